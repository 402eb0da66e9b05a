import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createMemoryOrderStore, createPlan, type OrderInput, perMinute } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { serializeOrders } from '../../../src/orders/json.js';
import { fakeStore, pageOf } from '../../support/fake-store.js';
import { open } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { askNode, listen } from '../support/ways.js';

const HEAD = `GET ${ORDERS} HTTP/1.1\r\nHost: orders.test\r\n${KEY.join(': ')}\r\n\r\n`;

const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(1e9)] });

/**
 * A list longer than the kernel's buffers, so that the server must wait if a reader stops reading.
 */
const LONG = createMemoryOrderStore(ordersUpTo(300_000));
/** A list so long that it is still being sent when a reader hangs up after the first bytes. */
const FEWER = createMemoryOrderStore(ordersUpTo(60_000));

function ordersUpTo(count: number): readonly OrderInput[] {
  return Array.from({ length: count }, (_, id) => ({
    id,
    petId: 7,
    shipDate: '2026-02-03T04:05:06Z',
    complete: true,
  }));
}

async function listenWith(list: () => unknown) {
  const store = fakeStore({ list: () => Object(list()) });
  const shop = createShop({ store, authenticate: () => ({ id: 'reader', plan: PLENTY }) });
  const sockets = new Set<Socket>();
  const { server, port, close } = await listen(nodeHandler(shop.service));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return { server, port, close, sockets };
}

/** Waits until there is more to read. Resolves to 0, because it reads no bytes itself. */
async function readable(reader: Socket): Promise<0> {
  await once(reader, 'readable');
  return 0;
}

const streams = {
  'a list that all readers share': () => LONG.list(),
  'a list that is serialised for one reader': () => ({
    async *[Symbol.asyncIterator]() {
      for (;;) yield pageOf(LONG.list().slice(0, 512));
    },
  }),
};

for (const [name, list] of Object.entries(streams)) {
  test(`a reader that stalls on ${name} is dropped after 120 s, or after the server.timeout that the host has set`, async (t) => {
    const { server, port, close, sockets } = await listenWith(list);
    for (const ms of [undefined, 200]) {
      if (ms !== undefined) server.timeout = ms;
      const reader = open(port, HEAD).pause();
      t.after(() => reader.destroy());
      await once(server, 'connection');
      const [socket = assert.fail()] = sockets;
      while (socket.writableLength === 0) await sleep(10);
      assert.equal(socket.timeout, ms ?? 120_000);
      if (ms === undefined) reader.destroy();
      while (sockets.size > 0) await sleep(20);
    }
    await close();
  });

  test(`a reader that reads 20 kB/s of ${name} is not dropped`, async (t) => {
    const { server, port, close, sockets } = await listenWith(list);
    // Everything is 100 times as fast: 2 MB/s, and a timeout of 1.2 s. The system accepts data from
    // the server in steps of more than a megabyte, whatever the speed.
    server.timeout = 1_200;
    const reader = open(port, HEAD).pause();
    t.after(() => reader.destroy());
    for (let seconds = 0; seconds < 6; seconds += 0.1) {
      for (let bytes = 0; bytes < 200_000; ) bytes += reader.read()?.length ?? (await readable(reader));
      await sleep(100);
      assert.equal(sockets.size, 1, `the reader was dropped after ${seconds} s`);
    }
    reader.destroy();
    await close();
  });
}

test('a reader that pauses now and then gets the complete list, and is not dropped when it is idle afterwards', async (t) => {
  const { port, close, sockets } = await listenWith(() => LONG.list());
  // The response to HEAD is sent only when the whole list has been serialised. The test then sends
  // the GET on the same connection.
  const socket = open(port, HEAD.replace('GET', 'HEAD'));
  t.after(() => socket.destroy());
  await once(socket, 'data');
  socket.write(HEAD);
  let end = '';
  socket.on('data', (piece) => {
    end = (end + piece.toString('latin1')).slice(-20);
  });
  for (let pauses = 0; pauses < 3; pauses++) {
    await once(socket, 'data');
    socket.pause();
    await sleep(300);
    for (const { writableLength: bytes } of sockets) assert.ok(bytes < 1_000_000, `${bytes} bytes wait`);
    socket.resume();
  }
  while (!/\](?:\r\n0\r\n\r\n)?$/.test(end)) await sleep(20);
  await sleep(1_500);
  assert.equal(sockets.size, 1);
  socket.destroy();
  await close();
});

test('readers that hang up at any time leave no connection, no listener and no memory behind', async () => {
  const { server, port, close, sockets } = await listenWith(() => FEWER.list());
  const rounds = Number(process.env['STORE_ORDERS_ROUNDS'] ?? 20);
  const hangUp = async (index: number) => {
    const codings = ['identity', 'gzip', 'br'];
    const socket = open(port, HEAD.replace('\r\n\r\n', `\r\nAccept-Encoding: ${codings[index % 3]}\r\n\r\n`));
    socket.on('error', () => {});
    if (index % 4 > 0) await once(socket, 'data');
    if (index % 4 > 1) await new Promise(setImmediate);
    socket.destroy();
  };
  const hangUpMany = async () => {
    for (let i = 0; i < 50; i++) await Promise.all(Array.from({ length: 10 }, (_, index) => hangUp(i + index)));
    while (sockets.size > 0) await new Promise(setImmediate);
  };
  await hangUpMany();
  const before = await settledBytes();
  for (let round = 0; round < rounds; round++) await hangUpMany();
  const growth = (await settledBytes()) - before;
  assert.ok(growth < 8 * 2 ** 20, `${growth} bytes after ${rounds * 500} readers`);
  assert.equal(await new Promise((resolve) => server.getConnections((_, count) => resolve(count))), 0);
  const agent = new Agent();
  assert.equal((await askNode({ agent, port }, 'GET', ORDERS, [KEY])).text, serializeOrders(FEWER.list()));
  await close();
});

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Measures the memory in use several times, each after garbage collection. Returns the least. */
async function settledBytes(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5; tries++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
  }
  return least;
}
