import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { type Order, type OrderStore, PLANS } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { nodeHandler } from 'store-orders/handler';
import { fakeStore, pageOf } from '../../support/fake-store.js';
import { createDeferred, until } from '../../support/until.js';
import { serve } from '../mounts/support/servers.js';
import { type Answer, assertError } from '../support/answer.js';
import { get as getHead } from '../support/messages.js';
import { open } from '../support/raw-socket.js';
import { onReplies } from '../support/replies.js';
import { bearer, createShop, KEY, ORDERS } from '../support/shop.js';
import { openShop, WAYS } from '../support/ways.js';
import { settled } from './support/asker.js';

const FAILURE = new Error('the cursor is gone');

/**
 * Creates a store that streams these pages, or throws an error in the place of a page. Counts the
 * pages that were requested. `ended` resolves when the stream is exhausted, has failed, or was
 * ended by its reader.
 */
function streaming(pages: Iterable<readonly Order[] | Error>) {
  const { promise: ended, resolve: end } = createDeferred();
  let count = 0;
  async function* list() {
    try {
      for (const page of pages) {
        count++;
        await new Promise(setImmediate);
        if (page instanceof Error) throw page;
        yield pageOf(page);
      }
    } finally {
      end();
    }
  }
  return { ...fakeStore({ list }), list, asked: () => count, ended };
}

function* endless(): Generator<Order[]> {
  for (let id = 0n; ; id += 1_000n) yield Array.from({ length: 1_000 }, (_, i) => ({ id: id + BigInt(i) }));
}

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    async function get(t: TestContext, store: OrderStore, method = 'GET'): Promise<Answer> {
      const { ask } = await openShop(t, way, { store });
      return ask(method, ORDERS, [KEY]);
    }

    test('a streamed list has the same bytes as the same list in one array', async (t) => {
      const { store } = createShop();
      const orders = store.list();
      const whole = await get(t, store);
      for (const pages of [
        [orders],
        orders.map((order) => [order]),
        [[], orders.slice(0, 3), [], [], orders.slice(3), []],
      ]) {
        const { status, text } = await get(t, streaming(pages));
        assert.deepEqual([status, text], [200, whole.text]);
      }
      for (const pages of [[], [[]], [[], []]]) assert.equal((await get(t, streaming(pages))).text, '[]');
    });

    test('a stream that fails before its first order leads to a 503', async (t) => {
      for (const pages of [[FAILURE], [[], FAILURE]]) {
        const store = streaming(pages);
        assertError(await get(t, store), 'service_unavailable');
        await store.ended;
      }
    });

    test("HEAD does not start the store's stream", async (t) => {
      const store = streaming(endless());
      const { status, text, fields } = await get(t, store, 'HEAD');
      assert.deepEqual([status, text, fields.get('content-type')], [200, '', 'application/json']);
      assert.equal(store.asked(), 0);
    });
  });
}

test("with node:http, the store's stream is read only as fast as the client reads, and is ended when the client hangs up", async (t) => {
  const store = streaming(endless());
  const port = await serve(t, createServer(nodeHandler(createShop({ store }).service)));
  const socket = open(port, getHead());
  socket.pause();
  await until(() => store.asked() > 0);
  // The kernel buffers some megabytes. If no page has been requested in 200 passes of the event
  // loop, the server is waiting for the reader.
  let before = -1;
  for (let idle = 0; idle < 200; idle = store.asked() === before ? idle + 1 : 0) {
    before = store.asked();
    await new Promise(setImmediate);
  }
  assert.ok(store.asked() < 5_000, `${store.asked()} pages`);
  socket.destroy();
  await store.ended;
});

test('with node:http, each page of a list is sent in a pass of the event loop of its own, so that other requests need not wait for the list', async (t) => {
  let pass = 0;
  let ticker = setImmediate(function tick() {
    pass++;
    ticker = setImmediate(tick);
  });
  t.after(() => clearImmediate(ticker));
  const passes = new Set<number>();
  async function* list() {
    for (let id = 0; id < 100; id++) {
      passes.add(pass);
      yield `{"id":${id}}`;
    }
  }
  const port = await serve(t, createServer(nodeHandler(createShop({ store: fakeStore({ list }) }).service)));
  await (await fetch(`http://127.0.0.1:${port}${ORDERS}`, { headers: [KEY] })).text();
  assert.ok(passes.size >= 99, `${passes.size} passes`);
});

test("with the fetch mount, the store's stream is read only as fast as the client reads, and is ended when the client cancels", async () => {
  const store = streaming(endless());
  const handle = fetchHandler(createShop({ store }).service);
  const response = await handle(new Request(`http://orders.test${ORDERS}`, { headers: [KEY] }));
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  assert.ok(store.asked() <= 3, `${store.asked()} pages`);
  await response.body?.cancel();
  await store.ended;
});

test("if the host ends the response while a list is sent, the store's stream is ended and the process keeps running", async (t) => {
  let endResponse = () => {};
  async function* list() {
    yield '{"id":1}';
    endResponse();
    yield '{"id":2}';
    yield '{"id":3}';
  }
  const { service } = createShop({ store: fakeStore({ list }) });
  const server = createServer(nodeHandler(service));
  server.on('request', (_request, response) => {
    endResponse = () => response.end();
  });
  const socket = open(await serve(t, server), getHead());
  await once(socket, 'data');
  await service.close();
  socket.destroy();
});

/** Streams lists of two pages, and counts those that were begun and those that have ended. */
function createStreamingShop() {
  const counts = { begun: 0, ended: 0 };
  async function* list() {
    counts.begun++;
    try {
      yield '{"id":1}';
      yield '{"id":2}';
    } finally {
      counts.ended++;
    }
  }
  const authenticate = (apiKey: string) => ({ id: apiKey, plan: PLANS.business });
  const { service } = createShop({ store: fakeStore({ list }), authenticate });

  async function ask(key: string, method = 'GET', isAborted = () => false) {
    const head = { method, url: ORDERS, rawHeaders: bearer(key) };
    const { status, body } = await service.respond(
      Object.defineProperty(head, 'aborted', { get: isAborted, enumerable: true }),
    );
    async function read(): Promise<string> {
      let text = '';
      if (typeof body === 'object' && Symbol.asyncIterator in body)
        for await (const piece of body) text += Buffer.from(piece);
      return text;
    }
    return { status, read };
  }

  return { ask, counts, service };
}

const WHOLE = '[{"id":1},{"id":2}]';

suite('a list that is streamed, of pages without a version', () => {
  test('is sent to a key one at a time, and its further requests delay no other key', async () => {
    const { ask, counts } = createStreamingShop();
    const slow = await ask('ann');
    const waiting = [ask('ann'), ask('ann'), ask('ann')];
    await settled();
    assert.deepEqual(counts, { begun: 1, ended: 0 });
    assert.equal((await ask('ann', 'HEAD')).status, 200, 'a HEAD request reads no list');
    // More keys than make an array at the same time.
    const others = await Promise.all(['bob', 'cid', 'dan', 'eve', 'fay'].map((key) => ask(key)));
    assert.deepEqual(counts, { begun: 6, ended: 0 });
    for (const other of others) assert.equal(await other.read(), WHOLE);
    assert.deepEqual(counts, { begun: 6, ended: 5 });
    assert.equal(await slow.read(), WHOLE);
    for (const [index, reply] of waiting.entries()) {
      const next = await reply;
      await settled();
      assert.deepEqual(counts, { begun: 7 + index, ended: 6 + index });
      assert.equal(await next.read(), WHOLE);
    }
  });

  test('waits 5 s at most for an earlier list of its key, and does not wait for a client that has hung up', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { ask, counts } = createStreamingShop();
    const slow = await ask('ann');
    const late = ask('ann');
    await settled();
    t.mock.timers.tick(5_000);
    assert.equal((await late).status, 503);
    let isAborted = false;
    const aborted = ask('ann', 'GET', () => isAborted);
    const next = ask('ann');
    await settled();
    isAborted = true;
    assert.equal(await slow.read(), WHOLE);
    assert.deepEqual([(await aborted).status, await (await next).read()], [408, WHOLE]);
    assert.deepEqual(counts, { begun: 2, ended: 2 });
  });

  test('ends after four minutes if the host drops the reply unread, and the key gets its next list', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const errors: unknown[] = [];
    t.after(onReplies(({ error }) => errors.push(error)));
    const { ask, counts, service } = createStreamingShop();
    const dropped = await ask('ann');
    t.mock.timers.tick(239_999);
    await settled();
    assert.equal(counts.ended, 0);
    t.mock.timers.tick(1);
    await settled();
    assert.equal(counts.ended, 1);
    assert.match(String(errors), /has taken the next page for minutes/);
    await assert.rejects(dropped.read(), /has taken the next page for minutes/);
    assert.equal(await (await ask('ann')).read(), WHOLE);
    await service.close();
  });
});
