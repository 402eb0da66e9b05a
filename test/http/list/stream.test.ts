import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { Agent } from 'node:http';
import { suite, test } from 'node:test';
import type { Order, OrderStore } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { nodeHandler } from 'store-orders/handler';
import { fakeStore, pageOf } from '../../support/fake-store.js';
import { type Answer, assertError } from '../support/answer.js';
import { open } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { askNode, listen, WAYS } from '../support/ways.js';

const LIST_HEAD = `GET ${ORDERS} HTTP/1.1\r\nHost: orders.test\r\n${KEY.join(': ')}\r\n\r\n`;

interface Streaming extends OrderStore {
  /** How many pages were requested. */
  readonly asked: () => number;
  /** Resolves when the iterator has ended: it was exhausted, it failed, or the reader ended it. */
  readonly ended: Promise<void>;
}

/**
 * Creates a store that streams these pages. A function in place of a page is called and throws,
 * so that the stream fails there.
 */
function streaming(pages: Iterable<readonly Order[] | (() => never)>): Streaming {
  let count = 0;
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  async function* list() {
    try {
      for (const page of pages) {
        count++;
        await new Promise(setImmediate);
        yield typeof page === 'function' ? page() : pageOf(page);
      }
    } finally {
      end();
    }
  }
  return { ...fakeStore({ list }), asked: () => count, ended };
}

const fail = () => {
  throw new Error('the cursor is gone');
};

function* endless(): Generator<Order[]> {
  for (let id = 0n; ; id += 1_000n) yield Array.from({ length: 1_000 }, (_, i) => ({ id: id + BigInt(i) }));
}

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    async function get(store: OrderStore, method = 'GET'): Promise<Answer> {
      const { ask, close } = await way.open(createShop({ store }).service);
      return ask(method, ORDERS, [KEY]).finally(close);
    }

    test('a streamed list has the same bytes as the same list in one array', async () => {
      const orders = createShop().store.list();
      const whole = await get(createShop().store);
      for (const pages of [
        [orders],
        orders.map((order) => [order]),
        [[], orders.slice(0, 3), [], [], orders.slice(3), []],
      ]) {
        const { status, text } = await get(streaming(pages));
        assert.deepEqual([status, text], [200, whole.text]);
      }
    });

    test('a streamed list without orders is sent as an empty array', async () => {
      for (const pages of [[], [[]], [[], []]]) assert.equal((await get(streaming(pages))).text, '[]');
    });

    test('a stream that fails before its first order leads to a 503', async () => {
      for (const pages of [[fail], [[], fail]]) {
        const store = streaming(pages);
        assertError(await get(store), 'service_unavailable');
        await store.ended;
      }
      const rubbish: AsyncIterable<never> = { [Symbol.asyncIterator]: fail };
      assertError(await get(fakeStore({ list: () => rubbish })), 'service_unavailable');
    });

    test('a stream that fails after its first order aborts the response, so that the client gets an error rather than a short list', async () => {
      const store = streaming([[{ id: 1n }], fail]);
      await assert.rejects(get(store));
      await store.ended;
    });

    test("HEAD does not start the store's stream", async () => {
      const store = streaming(endless());
      const { status, text, fields } = await get(store, 'HEAD');
      assert.deepEqual([status, text, fields.get('content-type')], [200, '', 'application/json']);
      assert.equal(store.asked(), 0);
    });
  });
}

test("with node:http, the store's stream is read only as fast as the client reads, and is ended when the client hangs up", async () => {
  const store = streaming(endless());
  const { port, close } = await listen(nodeHandler(createShop({ store }).service));
  const socket = open(port, LIST_HEAD);
  socket.pause();
  await once(socket, 'connect');
  // The kernel buffers some megabytes. If no page has been requested in 200 passes of the event
  // loop, the server is waiting for the reader.
  let before = -1;
  for (let idle = 0; idle < 200; idle = store.asked() === before ? idle + 1 : 0) {
    before = store.asked();
    await new Promise(setImmediate);
  }
  assert.ok(store.asked() > 0 && store.asked() < 5_000, `${store.asked()} pages`);
  socket.destroy();
  await store.ended;
  await close();
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

test("a client that hangs up before the list begins ends the store's stream, and the server keeps running", async () => {
  const inner = streaming(endless());
  const gate = new EventEmitter();
  const list = async () => {
    gate.emit('asked');
    await once(gate, 'open');
    return inner.list();
  };
  const { service } = createShop({ store: fakeStore({ list }) });
  const handle = nodeHandler(service);
  let closed: Promise<unknown> = Promise.resolve();
  const { port, close } = await listen((request, response) => {
    closed = once(response, 'close');
    handle(request, response);
  });
  const asked = once(gate, 'asked');
  const socket = open(port, LIST_HEAD);
  await asked;
  socket.destroy();
  await closed;
  gate.emit('open');
  await inner.ended;
  const agent = new Agent();
  assert.equal((await askNode({ agent, port }, 'GET', ORDERS, [])).status, 401);
  await close();
});

test("if the host ends the response while a list is sent, the store's stream is ended and the process keeps running", async () => {
  let endResponse = () => {};
  async function* list() {
    yield '{"id":1}';
    endResponse();
    yield '{"id":2}';
    yield '{"id":3}';
  }
  const { service } = createShop({ store: fakeStore({ list }) });
  const handle = nodeHandler(service);
  const { port, close } = await listen((request, response) => {
    endResponse = () => response.end();
    handle(request, response);
  });
  const socket = open(port, LIST_HEAD);
  await once(socket, 'data');
  await service.close();
  socket.destroy();
  await close();
});
