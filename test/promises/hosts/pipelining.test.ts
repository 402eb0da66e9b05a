import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import Koa from 'koa';
import inject from 'light-my-request';
import { createPlan, type Order, perMinute } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { settled } from '../../http/list/support/asker.js';
import { SERVERS, serve } from '../../http/mounts/support/servers.js';
import { createEndless, PAGE } from '../../http/support/endless.js';
import { cancel, get } from '../../http/support/messages.js';
import { open, readAll } from '../../http/support/raw-socket.js';
import { onReplies } from '../../http/support/replies.js';
import { bearer, createShop, ORDERS } from '../../http/support/shop.js';
import { fakeStore } from '../../support/fake-store.js';
import { createDeferred, until } from '../../support/until.js';

const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(1e9)], ban: false });

const GET = get();

/** One request in progress, and sixteen that wait. */
const MOST = 17;

/** Starts a server on which every cancellation waits until the test calls `release`. */
async function start(t: TestContext, mount: (typeof SERVERS)[keyof typeof SERVERS]) {
  const { promise: released, resolve: release } = createDeferred();
  const cancelled: number[] = [];
  const store = fakeStore({
    async cancel(id) {
      await released;
      cancelled.push(Number(id));
      return 'cancelled' as const;
    },
  });
  const authenticate = () => ({ id: 'pipeliner', plan: PLENTY });
  const server = await mount(createShop({ store, authenticate }).service);
  const requests: { readonly socket: Socket; readonly bytesRead: number }[] = [];
  server.on('request', ({ socket }) => requests.push({ socket, bytesRead: socket.bytesRead }));
  return { port: await serve(t, server), cancelled, release, requests };
}

for (const [name, mount] of Object.entries(SERVERS)) {
  test(`${name}: seventeen pipelined requests get their responses in order, and no later one is parsed or carried out`, async (t) => {
    for (const isSlow of [true, false]) {
      const { port, cancelled, release, requests } = await start(t, mount);
      if (!isSlow) release();
      const ids = Array.from({ length: 1_000 }, (_, id) => id);
      const received = readAll(open(port, ids.map((id) => cancel(id)).join('')));
      await until(() => requests.length === MOST);
      await settled();
      const { socket, bytesRead } = requests[MOST - 1] ?? assert.fail();
      if (isSlow) assert.equal(socket.bytesRead, bytesRead, 'no piece is read after that of the last request');
      release();
      const { answers } = await received;
      assert.deepEqual([answers.length, cancelled, requests.length], [MOST, ids.slice(0, MOST), MOST]);
      assert.deepEqual(
        answers.map(({ fields }) => fields.get('connection')),
        [...Array.from({ length: MOST - 1 }, () => 'keep-alive'), 'close'],
      );
    }
  });

  const says = `${name}: if a client hangs up, the lists that it has pipelined end too, and none counts as failed`;
  test(says, { timeout: 60_000 }, async (t) => {
    for (const isSlow of [false, true]) {
      const { service, counts } = createEndless(PAGE);
      const errors = new Set<unknown>();
      t.after(onReplies(({ error }) => errors.add(error)));
      const { promise: hungUp, resolve: hangUp } = createDeferred<unknown>();
      const respondLate: typeof service.respond = (...request) => hungUp.then(() => service.respond(...request));
      const server = await mount(isSlow ? { ...service, respond: respondLate } : service);
      let requests = 0;
      server.on('request', () => requests++);
      server.on('connection', (connection) => connection.on('close', () => setImmediate(hangUp)));
      const socket = open(await serve(t, server), GET.repeat(3)).pause();
      await until(() => requests === 3 && (isSlow || counts.started > 0));
      socket.resetAndDestroy();
      await hungUp;
      await new Promise((resolve) => setImmediate(resolve));
      await service.close();
      assert.equal(counts.ended, counts.started);
      assert.deepEqual(errors, new Set([undefined]));
    }
  });

  test(`${name}: a client that sends forty requests, and reads only later, gets every response that was begun`, async (t) => {
    const { promise: listed, resolve: list } = createDeferred<Order[]>();
    const authenticate = () => ({ id: 'reader', plan: PLENTY });
    const server = await mount(createShop({ store: fakeStore({ list: () => listed }), authenticate }).service);
    const ended: Promise<unknown>[] = [];
    server.on('connection', (connection) => ended.push(once(connection, 'finish')));
    let requests = 0;
    server.on('request', () => requests++);
    const socket = open(await serve(t, server)).pause();
    for (let sent = 0; sent < 40; sent++) {
      socket.write(GET);
      await until(() => requests >= Math.min(sent + 1, MOST));
    }
    list([{ id: 1n, shipDate: 'x'.repeat(30_000) }]);
    // Half a megabyte is now in the buffers of the system, and requests that nobody has read.
    await until(() => ended.length === 1);
    await Promise.all(ended);
    socket.write(GET);
    const received = readAll(socket);
    socket.resume();
    assert.equal((await received).answers.length, MOST);
  });

  test(`${name}: a client that pipelines up to sixteen requests at a time keeps its connection`, async (t) => {
    const { port, release } = await start(t, mount);
    release();
    const socket = open(port);
    let received = '';
    socket.setEncoding('latin1').on('data', (piece) => {
      received += piece;
    });
    for (let round = 1; round <= 20; round++) {
      socket.write(cancel(round).repeat(16));
      await until(() => received.split('HTTP/1.1 204').length > 16 * round);
    }
    assert.doesNotMatch(received, /close/);
    socket.destroy();
  });
}

const late = 'koaMiddleware: pipelined lists end even if the host calls the service only after the client has hung up';
test(late, { timeout: 60_000 }, async (t) => {
  const { service, counts } = createEndless(PAGE);
  const { promise: passed, resolve: pass } = createDeferred();
  const destroyed: unknown[] = [];
  const app = new Koa().use((ctx, next) =>
    passed.then(next).then(() => void destroyed.push(Object(ctx.body).destroyed)),
  );
  app.use(koaMiddleware(service));
  const closed: Promise<unknown>[] = [];
  const server = createServer(app.callback());
  server.on('request', ({ socket }) => closed.push(new Promise((resolve) => socket.once('close', resolve))));
  // The second list of one key would wait for the first, and not be asked for any more.
  const socket = open(await serve(t, server), GET + GET.replace('business-key', 'free-key'));
  await until(() => closed.length === 2);
  socket.destroy();
  await Promise.all(closed);
  pass();
  await until(() => counts.started === 2);
  await service.close();
  assert.deepEqual([counts.ended, destroyed], [2, [true, true]]);
});

const addressPlan = createPlan({ name: 'address', partition: 'address', policies: [perMinute(1)] });

test('after a 429 to an address over its limit, no further request of the connection is parsed; a 429 to a key leaves it open', async (t) => {
  for (const [fields, statuses, parsed] of [
    ['', [429], 1],
    [`${bearer('tiny-key').join(': ')}\r\n`, [200, 200, 429, 429], 4],
  ] as const) {
    const { service } = createShop({ addressPlan });
    await service.respond({ method: 'GET', url: ORDERS, rawHeaders: [] }, '127.0.0.1');
    const server = SERVERS.nodeHandler(service);
    let requests = 0;
    server.on('request', () => requests++);
    const head = `GET ${ORDERS} HTTP/1.1\r\nHost: a\r\n${fields}`;
    const socket = open(await serve(t, server), `${`${head}\r\n`.repeat(3)}${head}Connection: close\r\n\r\n`);
    const { answers } = await readAll(socket);
    assert.deepEqual([answers.map(({ status }) => status), requests], [statuses, parsed]);
    const connections = answers.map((answer) => answer.fields.get('connection'));
    assert.deepEqual(connections, [...statuses.slice(1).map(() => 'keep-alive'), 'close']);
  }
});

test('what a client still sends after seventeen requests over the limit of its address is read and dropped too', async (t) => {
  const { limiter } = createShop();
  const { service } = createShop({ addressPlan, limiter: { take: async (key, plan) => limiter.take(key, plan) } });
  await service.respond({ method: 'GET', url: ORDERS, rawHeaders: [] }, '127.0.0.1');
  const server = SERVERS.nodeHandler(service);
  const opened = once(server, 'connection');
  const requests = `GET ${ORDERS} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(MOST);
  const socket = open(await serve(t, server), requests);
  const [connection] = await opened;
  await once(connection, 'finish');
  const closed = once(connection, 'close');
  socket.end(GET);
  await closed;
  assert.equal(connection.bytesRead, requests.length + GET.length);
});

test('the handler also answers a request over the limit of its address that came over no connection', async () => {
  const handle = nodeHandler(createShop({ addressPlan }).service);
  for (const status of [401, 429]) assert.equal((await inject(handle, { url: ORDERS })).statusCode, status);
});
