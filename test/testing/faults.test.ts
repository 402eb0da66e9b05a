import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createTestService, type TestServiceOptions } from 'store-orders/testing';

const ORDERS = [{ id: 1 }, { id: 2 }];

for (const way of ['its fetch', 'its own HTTP server'] as const) {
  suite(`a test service reached by ${way}`, () => {
    const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    const failed = { name: 'TypeError', message: 'fetch failed', ...(way === 'its fetch' && { cause }) };

    async function opened(t: TestContext, options?: TestServiceOptions) {
      const service = createTestService({ orders: ORDERS, ...options });
      let { url, fetch } = service;
      if (way === 'its own HTTP server') {
        const listening = await service.listen();
        t.after(listening.close);
        ({ url } = listening);
        ({ fetch } = globalThis);
      }
      const headers = { Authorization: `Bearer ${service.apiKey}` };
      /** What remains after the next request. */
      const remaining = () => service.quota(service.apiKey).inForce.remaining;
      return {
        ...service,
        remaining,
        /** Sends a request, and resolves when the request has reached the service. */
        async begin(send: () => Promise<Response>): Promise<{ readonly answer: Promise<Response> }> {
          const before = remaining();
          const answer = send();
          while (remaining() === before) await setImmediate();
          await setImmediate();
          return { answer };
        },
        list: (init?: RequestInit) => fetch(`${url}/store/orders`, { headers, ...init }),
        cancel: (id: number, init?: RequestInit) =>
          fetch(`${url}/store/orders/${id}`, { method: 'DELETE', headers, ...init }),
      };
    }

    test('a proxy responds in HTML with 502 before, and with 504 after a request is carried out; anything else responds as given', async (t) => {
      const { failNext, list, cancel, store, remaining } = await opened(t);
      const blocked = {
        status: 403,
        headers: { 'Content-Type': 'text/plain', Server: 'a firewall' },
        body: 'blocked ü',
      };
      failNext(502, 504, blocked, { status: 520 }, { status: 204, body: 'none' });
      for (const [id, status, type, text, stored] of [
        [1, 502, 'text/html', /<h1>502 Bad Gateway<\/h1>/, 'pending'],
        [1, 504, 'text/html', /<h1>504 Gateway Timeout<\/h1>/, 'cancelled'],
        [2, 403, 'text/plain', /^blocked ü$/, 'pending'],
        [2, 520, null, /^$/, 'pending'],
        [2, 204, null, /^$/, 'pending'],
      ] as const) {
        const response = await cancel(id);
        assert.deepEqual([response.status, response.headers.get('Content-Type')], [status, type]);
        assert.match(await response.text(), text);
        assert.equal(response.headers.get('X-RateLimit-Limit'), null);
        assert.equal(store.get(BigInt(id))?.status, stored);
      }
      assert.equal(remaining(), 58, 'only the 504 is charged');
      assert.equal((await list()).status, 200);
      for (const status of [199, 600, 200.5, '502']) {
        // @ts-expect-error: a status that no response can have
        assert.throws(() => failNext({ status }), /^\w+Error: fault\.status: expected a whole number from 200 to 599$/);
      }
    });

    test('failNext makes the next requests that reach the store fail, in the given order', async (t) => {
      const { failNext, list, cancel, store, remaining } = await opened(t, { basePath: '/shop/v2' });
      failNext(503, 500);
      failNext(500, 500, 503);
      const withoutKey = () => list({ headers: {} });
      const answers = [await list(), await list(), await withoutKey()];
      answers.push(await cancel(1), await cancel(1), await cancel(1), await list(), await withoutKey());
      assert.deepEqual(
        answers.map(({ status }) => status),
        [503, 500, 401, 500, 503, 204, 200, 401],
      );
      assert.equal(answers[0]?.headers.get('Retry-After'), '1');
      assert.match((await answers[1]?.text()) ?? '', /"code":"internal_error"/);
      assert.equal(remaining(), 53, 'failed requests are charged too');
      const left = [answers[2], answers[7]].map((answer) => Number(answer?.headers.get('X-RateLimit-Remaining')));
      assert.deepEqual(left, [599, 598], 'the address is charged too');
      assert.equal(store.get(1n)?.status, 'cancelled');
    });

    test('request_lost leaves the order pending; response_lost rejects although the order was cancelled', async (t) => {
      const { failNext, cancel, store } = await opened(t);
      failNext('request_lost', 'response_lost');
      await assert.rejects(cancel(1), failed);
      assert.equal(store.get(1n)?.status, 'pending');
      await assert.rejects(cancel(1), failed);
      assert.equal(store.get(1n)?.status, 'cancelled');
      assert.equal((await cancel(1)).status, 409);
    });

    test('response_torn sends half of a body and ends the response, and loses a response without a body', async (t) => {
      const many = Array.from({ length: 3 }, (_, id) => ({ id }));
      const { failNext, list, cancel, store, apiKey } = await opened(t, { orders: many });
      for (const coding of ['identity', 'gzip']) {
        failNext('response_torn');
        const torn = await list({ headers: { Authorization: `Bearer ${apiKey}`, 'Accept-Encoding': coding } });
        assert.equal(torn.status, 200);
        await assert.rejects(torn.text(), { name: 'TypeError', message: 'terminated' });
      }
      failNext('response_torn');
      const { value } = (await (await list()).body?.getReader().read()) ?? {};
      assert.equal(new TextDecoder().decode(value), '[{"id":0},{"id');
      failNext('response_torn');
      await assert.rejects(cancel(1), failed);
      assert.equal(store.get(1n)?.status, 'cancelled');
      assert.equal(JSON.parse(await (await list()).text()).length, 3);
    });

    test('a delayed response arrives after the delay, and the order is cancelled even if the client stops waiting', async (t) => {
      const { failNext, list, cancel, store, begin } = await opened(t);
      t.mock.timers.enable({ apis: ['setTimeout'] });
      failNext({ delayMs: 5_000 });
      const late = await begin(() => list());
      t.mock.timers.tick(5_000);
      assert.equal((await late.answer).status, 200);

      failNext({ delayMs: 5_000 });
      const controller = new AbortController();
      const abandoned = await begin(() => cancel(1, { signal: controller.signal }));
      controller.abort();
      await assert.rejects(abandoned.answer, { name: 'AbortError' });
      assert.equal(store.get(1n)?.status, 'cancelled');
    });

    test('if a request is aborted before it is sent or while it waits, it rejects as with the global fetch', async (t) => {
      const { list, failNext, remaining, begin } = await opened(t);
      for (const [reason, expected] of [
        [undefined, { name: 'AbortError', code: DOMException.ABORT_ERR }],
        [new RangeError('enough'), { name: 'RangeError', message: 'enough' }],
      ] as const) {
        const before = remaining();
        await assert.rejects(list({ signal: AbortSignal.abort(reason) }), expected);
        assert.equal(remaining(), before, 'an aborted request does not reach the service');

        const waiting = new AbortController();
        failNext({ delayMs: 60_000 });
        const { answer } = await begin(() => list({ signal: waiting.signal }));
        waiting.abort(reason);
        await assert.rejects(answer, expected);
      }
      if (way === 'its fetch') assert.ok(!process.getActiveResourcesInfo().includes('Timeout'), 'no timer is left');
      const response = await list({ signal: new AbortController().signal });
      assert.equal(await response.text(), '[{"id":1},{"id":2}]');
    });
  });
}

test('its own HTTP server also responds to unusual requests, and close ends a connection that waits', async (t) => {
  const { listen, failNext, apiKey, quota } = createTestService();
  const { url, close } = await listen();
  const headers = { Authorization: `Bearer ${apiKey}`, Expect: 'a miracle' };
  const [response] = await once(get(`${url}/store/orders`, { headers, agent: false }), 'response');
  assert.equal(response.headers['content-type'], 'application/json');
  const begun = t.mock.method(globalThis, 'setTimeout');
  const cleared = t.mock.method(globalThis, 'clearTimeout');
  failNext({ delayMs: 60_000 });
  const answer = fetch(`${url}/store/orders`, { headers: { Authorization: `Bearer ${apiKey}` } });
  const before = quota(apiKey).inForce.remaining;
  while (quota(apiKey).inForce.remaining === before) await setImmediate();
  await close();
  await assert.rejects(answer, { name: 'TypeError', message: 'fetch failed' });
  await assert.rejects(fetch(url), { name: 'TypeError', message: 'fetch failed' });
  const delay = begun.mock.calls.find((call) => call.arguments[1] === 60_000)?.result;
  const isCleared = cleared.mock.calls.some((call) => call.arguments[0] === delay);
  assert.ok(isCleared, 'the delay no longer keeps the process running');
});

test('failNext throws if one of the given faults is unknown, and adds none of the others', async () => {
  const { failNext, fetch, url, apiKey } = createTestService();
  const unknown =
    "fault: expected 500, 502, 503, 504, 'request_lost', 'response_lost', 'response_torn', { delayMs } or { status, headers, body }";
  const delay = 'fault: expected delayMs in whole milliseconds from 0 up';
  for (const [message, ...faults] of [
    [unknown, 404, 'lost', undefined, null, {}],
    [delay, { delayMs: -1 }, { delayMs: '5' }, { delayMs: 0.5 }],
  ]) {
    for (const fault of faults) {
      assert.throws(() => Reflect.apply(failNext, undefined, [503, fault]), { name: 'TypeError', message });
    }
  }
  failNext({ delayMs: 0 });
  const headers = { Authorization: `Bearer ${apiKey}` };
  assert.equal((await fetch(`${url}/store/orders`, { headers })).status, 200);
});

test('a failure that the test asked for causes no process warning', async (t) => {
  const { mock } = t.mock.method(process, 'emitWarning');
  const { url, fetch, apiKey, failNext } = createTestService({ orders: ORDERS });
  const headers = { Authorization: `Bearer ${apiKey}` };
  for (const fault of [500, 503] as const) {
    failNext(fault);
    assert.equal((await fetch(`${url}/store/orders`, { headers })).status, fault);
  }
  assert.equal(mock.callCount(), 0);
});
