import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createMemoryOrderStore, createPlan, type OrderInput, perMinute, serializeOrders } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { pageOf } from '../../support/fake-store.js';
import { open, readText } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { askNode, listen } from '../support/ways.js';

const HEAD = `GET ${ORDERS} HTTP/1.1\r\nHost: orders.test\r\n${KEY.join(': ')}\r\n\r\n`;
const CHECK_MS = 10_000;
const WINDOW_BYTES = 524_288;

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

/**
 * Makes the server check the readers' progress every `ms` milliseconds instead of every 10 s. Mock
 * timers cannot do this, because sockets need real timers.
 */
function checkEach(t: TestContext, ms: number): void {
  const { setInterval } = globalThis;
  t.mock.method(globalThis, 'setInterval', (check: () => void, askedMs: number) =>
    setInterval(check, askedMs === CHECK_MS ? ms : askedMs),
  );
}

async function listenWith(list: () => unknown) {
  const store = { list: () => Object(list()), cancel: () => 'not_found' as const };
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
  'a list that is not frozen': () => [...LONG.list()],
};

for (const [name, list] of Object.entries(streams)) {
  test(`a reader that stalls on ${name} is dropped, even if it keeps sending`, async (t) => {
    checkEach(t, 50);
    const { server, port, close, sockets } = await listenWith(list);
    // With this listener, Node.js does not close idle connections itself.
    server.on('timeout', () => {});
    const reader = open(port, HEAD).pause();
    reader.on('error', () => {});
    t.after(() => reader.destroy());
    await once(server, 'connection');
    while (sockets.size > 0) {
      await sleep(20);
      reader.write('\r\n');
    }
    await close();
  });

  test(`a reader that reads 20 kB/s of ${name} is not dropped`, async (t) => {
    const ms = 200;
    checkEach(t, ms);
    const { port, close, sockets } = await listenWith(list);
    const reader = open(port, HEAD).pause();
    t.after(() => reader.destroy());
    // A reader of 20 kB/s reads 200 kB in 10 s, which is the time between two checks. The kernel
    // accepts data from the server in steps of more than a megabyte, so most checks see no
    // progress.
    for (let checks = 0; checks < 15; checks++) {
      for (let bytes = 0; bytes < 200_000; ) bytes += reader.read()?.length ?? (await readable(reader));
      await sleep(ms);
      assert.equal(sockets.size, 1, `the reader was dropped by check ${checks}`);
    }
    reader.destroy();
    await close();
  });
}

test('readers that request a list at the same time get its bytes in turn', async (t) => {
  const { port, close, sockets } = await listenWith(() => LONG.list());
  const first = open(port, HEAD.replace('GET', 'HEAD'));
  await once(first, 'data');
  const clients = Array.from({ length: 20 }, () => open(port));
  t.after(() => [first, ...clients].map((client) => client.destroy()));
  while (sockets.size <= clients.length) await new Promise(setImmediate);
  const handedOver = () => [...sockets].reduce((bytes, socket) => bytes + socket.bytesWritten, 0);
  for (const client of clients) client.resume().write(HEAD);
  let before = handedOver();
  const end = before + 3 * clients.length * WINDOW_BYTES;
  for (let most = 0; before < end; ) {
    await new Promise(setImmediate);
    const now = handedOver();
    most = Math.max(most, now - before);
    // Between two checks of this loop, the server may send `WINDOW_BYTES` to each of two readers.
    assert.ok(most < 3 * WINDOW_BYTES, `the server sent ${most} bytes between two checks`);
    before = now;
  }
  for (const client of [first, ...clients]) client.destroy();
  await close();
});

test('a reader that pauses now and then gets the complete list, and is not dropped when it is idle afterwards', async (t) => {
  checkEach(t, 300);
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
    for (const { writableLength: bytes } of sockets) assert.ok(bytes < 2 * WINDOW_BYTES, `${bytes} bytes wait`);
    socket.resume();
  }
  while (!/\](?:\r\n0\r\n\r\n)?$/.test(end)) await sleep(20);
  await sleep(1_500);
  assert.equal(sockets.size, 1);
  socket.destroy();
  await close();
});

test('a reader is not dropped because the store is slow', async (t) => {
  checkEach(t, 20);
  const { port, close } = await listenWith(() => ({
    async *[Symbol.asyncIterator]() {
      yield '{"id":1}';
      await sleep(300);
      yield '{"id":2}';
    },
  }));
  const agent = new Agent();
  assert.equal((await askNode({ agent, port }, 'GET', ORDERS, [KEY])).text, '[{"id":1},{"id":2}]');
  await close();
});

test('a reader that stalls is dropped earlier if the host has set a shorter server.timeout', async (t) => {
  const { server, port, close, sockets } = await listenWith(() => LONG.list());
  server.timeout = 200;
  const accepted = once(server, 'connection');
  const reader = open(port, HEAD).pause();
  t.after(() => reader.destroy());
  await accepted;
  while (sockets.size > 0) await sleep(20);
  reader.destroy();
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

test('the response keeps the Vary field that the host has set', async () => {
  const { service } = createShop({ store: { list: () => LONG.list(), cancel: () => 'not_found' } });
  const handle = nodeHandler(service);
  const { port, close } = await listen((request, response) => {
    response.setHeader('Vary', ['Origin', 'Accept']);
    handle(request, response);
  });
  const agent = new Agent();
  const { fields } = await askNode({ agent, port }, 'HEAD', ORDERS, [KEY]);
  assert.equal(fields.get('vary'), 'Origin,Accept, Accept-Encoding');
  await close();
});

test('a client that sends two requests for the list without waiting gets it twice, one after the other', async () => {
  const { port, close } = await listenWith(() => LONG.list());
  const text = await readText(open(port, HEAD, HEAD.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')));
  const bodies = text.split(/HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\n/);
  // Only the second body is compared with the list. The first may use chunked transfer coding,
  // which adds the size of each chunk to the text.
  assert.equal(bodies.length, 3);
  assert.equal(bodies[2], serializeOrders(LONG.list()));
  await close();
});
