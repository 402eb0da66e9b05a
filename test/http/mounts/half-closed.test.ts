import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { OrderServiceOptions } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { createOrderServer } from 'store-orders/server';
import { open, readAll } from '../support/raw-socket.js';
import { authenticate, createShop, KEY, ORDERS } from '../support/shop.js';
import { listening } from './support/mount.js';

const SERVERS = {
  'the mount': (options: OrderServiceOptions) => {
    const handle = nodeHandler(createShop(options).service);
    return handle.attach(createServer(handle));
  },
  'the program': createOrderServer,
};

async function serve(
  t: TestContext,
  create: (typeof SERVERS)['the mount'],
  cancel: OrderServiceOptions['store']['cancel'],
) {
  const { limiter } = createShop();
  const store = { list: () => [], cancel };
  const { origin, close } = await listening(create({ store, limiter, authenticate }));
  t.after(close);
  return Number(new URL(origin).port);
}

const request = (id: number) => `DELETE ${ORDERS}/${id} HTTP/1.1\r\nHost: a\r\n${KEY.join(': ')}\r\n\r\n`;

for (const [name, create] of Object.entries(SERVERS)) {
  test(`a client that closes its sending half after its requests gets all responses from ${name}`, async (t) => {
    let cancelled = 0;
    const port = await serve(t, create, async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      cancelled++;
      return 'cancelled' as const;
    });
    for (let round = 0; round < 20; round++) {
      const socket = open(port, request(1), request(2), request(3));
      socket.end();
      const { answers } = await readAll(socket);
      assert.deepEqual(
        answers.map(({ status }) => status),
        [204, 204, 204],
      );
    }
    assert.equal(cancelled, 60);
  });

  test(`a client that closes its sending half during a request gets a 400 from ${name}, and its connection is closed`, async (t) => {
    const port = await serve(t, create, () => assert.fail('no complete request has arrived'));
    const socket = open(port, request(1).slice(0, -2));
    socket.end();
    assert.equal((await readAll(socket)).answers[0]?.status, 400);
    const silent = open(port);
    silent.end();
    assert.deepEqual((await readAll(silent)).answers, []);
  });
}
