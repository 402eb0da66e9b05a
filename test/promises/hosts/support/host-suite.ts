import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { createMemoryOrderStore, type OrderService, type OrderStore } from 'store-orders';
import { type Mount, OF_THE_HOST } from '../../../http/mounts/support/mount.js';
import { createShop, KEY, ORDERS, order } from '../../../http/support/shop.js';
import { fakeStore, pageOf } from '../../../support/fake-store.js';
import { createDeferred } from '../../../support/until.js';

const HEADERS = Object.fromEntries([KEY]);

/** Tests what holds for every host in which the service is mounted. */
export function hostSuite({ name, trustsProxy, isEmulated, open }: Mount): void {
  async function opened(t: TestContext, service: OrderService, prefix?: string) {
    const { origin, fetch = globalThis.fetch, close } = await open(service, prefix);
    t.after(close);
    return (path: string, init: RequestInit = {}) => fetch(new Request(origin + path, init));
  }

  suite(`a host of ${name}`, () => {
    test('serves its own paths without charging a quota', async (t) => {
      const ask = await opened(t, createShop().service);
      const response = await ask('/host');
      assert.deepEqual([response.status, await response.text()], [200, OF_THE_HOST]);
      assert.equal(response.headers.has('x-ratelimit-limit'), false);
      assert.ok(response.headers.has('x-host'));
      assert.equal((await ask('/v1/pets')).status, 404);
      assert.equal((await ask(ORDERS)).headers.get('x-ratelimit-remaining'), '599');
    });

    test('parses the bodies of requests to its own routes, while the service ignores bodies', async (t) => {
      const { service, store } = createShop();
      const ask = await opened(t, service);
      const json = { 'Content-Type': 'application/json' };
      const echo = await ask('/host', { method: 'POST', headers: json, body: '{"a":1}' });
      if (/^(?:Express|Fastify)/.test(name)) assert.equal(await echo.text(), '{"a":1}');
      for (const [id, body, type] of [
        [1, '{"id":2}', 'application/json'],
        [0, '{"id":', 'application/json; charset=utf-8'],
        [-5, 'a=b', 'application/x-www-form-urlencoded'],
        [9007199254740993n, 'x'.repeat(300_000), 'text/plain'],
      ] as const) {
        // If a parser of the host rejects the content before the service is called, the response is
        // the host's own.
        if (body === '{"id":' && /after|NestJS on Express/.test(name)) continue;
        if (body.length > 100_000 && /Express 5, after/.test(name)) continue;
        const headers = { ...HEADERS, 'Content-Type': type };
        const { status } = await ask(order(id), { method: 'DELETE', headers, body });
        assert.deepEqual([status, store.get(BigInt(id))?.status], [204, 'cancelled'], `${body.slice(0, 9)} as ${type}`);
      }
      assert.equal(store.get(2n)?.status, 'shipped');
      assert.equal((await ask(ORDERS, { headers: HEADERS })).status, 200);
    });

    test('mounts the service under a prefix', async (t) => {
      const { service, store } = createShop({ basePath: '/shop/v1' });
      const ask = await opened(t, service, '/shop');
      assert.equal((await ask(`/shop${ORDERS}`, { headers: HEADERS })).status, 200);
      assert.equal((await ask(`/shop${order(1)}`, { method: 'DELETE', headers: HEADERS })).status, 204);
      assert.equal(store.get(1n)?.status, 'cancelled');
      for (const path of [ORDERS, `/shop/shop${ORDERS}`, '/shop/v1/store/order', '/shop']) {
        assert.equal((await ask(path, { headers: HEADERS })).status, 404, path);
      }
    });

    test(trustsProxy ? 'takes the client address from the trusted proxy' : 'ignores X-Forwarded-For', async (t) => {
      const ask = await opened(t, createShop().service);
      for (const [address, remaining] of [
        ['198.51.100.1', 599],
        ['198.51.100.1', 598],
        ['198.51.100.2', trustsProxy ? 599 : 597],
      ] as const) {
        const { headers } = await ask(ORDERS, { headers: { 'X-Forwarded-For': address } });
        assert.equal(headers.get('x-ratelimit-remaining'), `${remaining}`);
      }
    });

    test('keeps its own Vary, to which the service adds Accept-Encoding', async (t) => {
      const store = createMemoryOrderStore(Array.from({ length: 500 }, (_, id) => ({ id })));
      const ask = await opened(t, createShop({ store }).service);
      let tag = '"none"';
      for (const expected of [200, 304]) {
        const asked = { ...HEADERS, 'Accept-Encoding': 'identity', 'If-None-Match': tag };
        const { status, headers } = await ask(ORDERS, { headers: asked });
        tag = headers.get('etag') ?? '';
        const vary = (headers.get('vary') ?? '').toLowerCase().split(/, */).sort();
        assert.deepEqual([status, vary], [expected, ['accept-encoding', 'origin']]);
      }
    });

    test('sends a 503 with all header fields when the store fails before it returns a list', async (t) => {
      const ask = await opened(
        t,
        listing(() => Promise.reject(new Error('no connection'))),
      );
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await ask(ORDERS, { method, headers: HEADERS });
        assert.deepEqual([status, headers.get('retry-after'), headers.get('x-ratelimit-limit')], [503, '1', '1000']);
      }
    });

    async function* failing(failure: Promise<unknown>) {
      yield await page(1_000);
      await failure;
      throw new Error('the disk is gone');
    }

    if (isEmulated) {
      test('does not send a truncated list with 200 when the store fails midway', async (t) => {
        const ask = await opened(
          t,
          listing(() => failing(setTimeout(100))),
        );
        const answered = ask(ORDERS, { headers: HEADERS }).then(async (response) => {
          await response.text();
          return response.status;
        });
        // After the failure, some hosts do not respond before the test closes them. If a host has
        // not responded within 300 ms, the test stops waiting and takes the status as 504.
        const status = await Promise.race([answered.catch(() => 500), setTimeout(300, 504)]);
        assert.notEqual(status, 200);
      });
      return;
    }

    test('aborts the connection when the store fails midway in a list', async (t) => {
      const { promise: failure, resolve: fail } = createDeferred();
      const ask = await opened(
        t,
        listing(() => failing(failure)),
      );
      // Some hosts delay the head for a moment, to send it together with more of the body. A failure
      // during this delay would lead to a 500, so the store fails after it.
      const response = await ask(ORDERS, { headers: HEADERS });
      assert.equal(response.status, 200);
      fail();
      await assert.rejects(response.text());
    });

    test('stops reading the store when the client hangs up', { timeout: 60_000 }, async (t) => {
      const { promise: ended, resolve: end } = createDeferred();
      async function* list() {
        try {
          for (;;) yield await page(5_000);
        } finally {
          end();
        }
      }
      const ask = await opened(t, listing(list));
      const reader = (await ask(ORDERS, { headers: HEADERS })).body?.getReader();
      await reader?.read();
      await reader?.cancel();
      await ended;
    });
  });
}

/**
 * Returns a page in a later pass of the event loop. A list of several pages then takes several
 * passes, between which races can occur.
 */
async function page(count: number): Promise<string> {
  await nextTurn();
  return pageOf(Array.from({ length: count }, (_, index) => ({ id: BigInt(index) })));
}

function listing(list: OrderStore['list']): OrderService {
  return createShop({ store: fakeStore({ list }) }).service;
}
