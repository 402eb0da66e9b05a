import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlan, perMinute } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { exchange, open, readAll } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { listen } from '../support/ways.js';

const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(1e9)], ban: false });
const request = (id: number | string, ...fields: readonly string[]) =>
  [`DELETE ${ORDERS}/${id} HTTP/1.1`, 'Host: a', KEY.join(': '), ...fields, '', ''].join('\r\n');
const LAST = request('last', 'Connection: close');

/** Starts a server on which every cancellation waits until the test calls `release`. */
async function serve(t: TestContext) {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const asked: bigint[] = [];
  const cancel = async (id: bigint) => {
    asked.push(id);
    await gate;
    return 'cancelled' as const;
  };
  const { service } = createShop({
    store: { list: () => [], cancel },
    authenticate: () => ({ id: 'pipeliner', plan: PLENTY }),
  });
  const handle = nodeHandler(service);
  const { server, port, close } = await listen(handle);
  handle.attach(server);
  t.after(close);
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  return { port, asked, release, sockets };
}

/** Waits until the server has read nothing for 100 ms. Returns how many bytes it has read. */
async function settled(sockets: readonly Socket[]): Promise<number> {
  const total = () => sockets.reduce((bytes, { bytesRead }) => bytes + bytesRead, 0);
  for (let before = -1; before !== total(); await sleep(100)) before = total();
  return total();
}

test('a client that pipelines many requests gets every response, in the order of the requests', async (t) => {
  const { port, asked, release } = await serve(t);
  release();
  const ids = Array.from({ length: 5_000 }, (_, id) => id);
  const { answers } = await exchange(port, ids.map((id) => request(id)).join(''), LAST);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...ids.map(() => 204), 404],
  );
  assert.deepEqual(asked.map(Number), ids);
});

test('while requests wait for a response, nothing more is read from their connection', async (t) => {
  const { port, asked, release, sockets } = await serve(t);
  const count = 10_000;
  const socket = open(port, request(1).repeat(count), LAST);
  const received = readAll(socket);
  while (asked.length === 0) await sleep(10);
  const bytes = await settled(sockets);
  assert.ok(bytes < 200_000, `${bytes} bytes were read`);
  assert.deepEqual(asked, [1n]);
  release();
  assert.equal((await received).answers.length, count + 1);
});

test('at most a few thousand requests wait on all connections together, and further connections are closed', async (t) => {
  const { port, asked, release, sockets } = await serve(t);
  const crowd = Array.from({ length: 12 }, () => open(port, request(1).repeat(1_000), LAST));
  for (const socket of crowd) socket.on('error', () => {}).resume();
  while (sockets.length < crowd.length) await sleep(10);
  await settled(sockets);
  const open_ = sockets.filter(({ destroyed }) => !destroyed);
  assert.ok(open_.length > 0 && open_.length < crowd.length, `${open_.length} of ${crowd.length} are open`);
  assert.equal(asked.length, crowd.length, 'one request of each connection has reached the store');
  const modest = exchange(port, request(2).repeat(10), LAST);
  for (const socket of crowd) socket.destroy();
  release();
  assert.equal((await modest).answers.length, 11);
  for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
  assert.equal((await exchange(port, request(3).repeat(2_000), LAST)).answers.length, 2_001, 'new requests are served');
});
