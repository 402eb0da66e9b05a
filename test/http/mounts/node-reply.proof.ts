import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMemoryOrderStore, createPlan, perMinute } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { pageOf } from '../../support/fake-store.js';
import { collectGarbage } from '../../support/memory.js';
import { until } from '../../support/until.js';
import { get } from '../support/messages.js';
import { open } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { listening } from './support/mount.js';

const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(1e9)] });

/** Starts a server whose list has `count` orders. Returns its open connections too. */
async function start(t: TestContext, count: number) {
  const store = createMemoryOrderStore(
    Array.from({ length: count }, (_, id) => ({ id, petId: 7, shipDate: '2026-02-03T04:05:06Z', complete: true })),
  );
  const { service } = createShop({ store, authenticate: () => ({ id: 'reader', plan: PLENTY }) });
  const server = createServer(nodeHandler(service));
  const { port, sockets, close } = await listening(server);
  t.after(close);
  return { server, port, sockets, text: `[${pageOf(store.list())}]` };
}

/** A list longer than the kernel's buffers, so that the server must wait if a reader stops reading. */
const LONG = 300_000;
/** A list so long that it is still being sent when a reader hangs up after the first bytes. */
const SHORTER = 60_000;

test('a reader that stalls is dropped after the server.timeout that the host has set', async (t) => {
  const { server, port, sockets } = await start(t, LONG);
  server.timeout = 200;
  const reader = open(port, get()).pause();
  t.after(() => reader.destroy());
  await once(server, 'connection');
  await until(() => sockets.size === 0);
});

test('a reader that reads 20 kB/s is not dropped, and the server keeps no more than a megabyte for it', async (t) => {
  const { server, port, sockets } = await start(t, LONG);
  // Everything is 20 times as fast: 400 kB/s, and a timeout of 6 s. The system accepts data from the
  // server in steps of more than a megabyte, whatever the speed.
  server.timeout = 6_000;
  const reader = open(port, get()).pause();
  t.after(() => reader.destroy());
  const startMs = performance.now();
  for (let bytes = 0; bytes < 15 * 400_000; ) {
    const piece: Buffer | null = reader.read();
    if (piece === null) await once(reader, 'readable');
    else bytes += piece.length;
    // On a busy machine a sleep takes longer, so the reader catches up afterwards.
    await sleep(bytes / 400 - (performance.now() - startMs));
    const [socket = assert.fail(`the reader was dropped after ${bytes} bytes`)] = sockets;
    assert.ok(socket.writableLength < 1_000_000, `${socket.writableLength} bytes wait`);
  }
});

test('readers that hang up at any time leave no connection, no listener and no memory behind', async (t) => {
  const { server, port, sockets, text } = await start(t, SHORTER);
  const rounds = Number(process.env['STORE_ORDERS_ROUNDS'] ?? 20);
  const hangUp = async (index: number) => {
    const codings = ['identity', 'gzip', 'br'];
    const socket = open(port, get(`Accept-Encoding: ${codings[index % 3]}`));
    socket.on('error', () => {});
    if (index % 4 > 0) await once(socket, 'data');
    if (index % 4 > 1) await new Promise(setImmediate);
    socket.destroy();
  };
  const hangUpMany = async () => {
    for (let i = 0; i < 50; i++) await Promise.all(Array.from({ length: 10 }, (_, index) => hangUp(i + index)));
    await until(() => sockets.size === 0);
  };
  await hangUpMany();
  const before = await settledBytes();
  for (let round = 0; round < rounds; round++) await hangUpMany();
  const growth = (await settledBytes()) - before;
  assert.ok(growth < 8 * 2 ** 20, `${growth} bytes after ${rounds * 500} readers`);
  assert.equal(await new Promise((resolve) => server.getConnections((_, count) => resolve(count))), 0);
  assert.equal(await (await fetch(`http://127.0.0.1:${port}${ORDERS}`, { headers: [KEY] })).text(), text);
});

/** Measures the memory in use. Memory outside the heap is freed some time after the collection. */
async function settledBytes(): Promise<number> {
  for (let times = 0; times < 5; times++) {
    collectGarbage();
    await sleep(20);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
