import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fastify } from 'fastify';
import Koa from 'koa';
import inject from 'light-my-request';
import { createPlan, type OrderService, perMinute } from 'store-orders';
import { fastifyPlugin } from 'store-orders/fastify';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { fakeStore } from '../../support/fake-store.js';
import { open, readAll } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { listening } from './support/mount.js';

const PLENTY = createPlan({ name: 'plenty', policies: [perMinute(1e9)], ban: false });
const request = (id: number | string, ...fields: readonly string[]) =>
  [`DELETE ${ORDERS}/${id} HTTP/1.1`, 'Host: a', KEY.join(': '), ...fields, '', ''].join('\r\n');

/** One request in progress, and sixteen that wait. */
const MOST = 17;

const MOUNTS: Readonly<Record<string, (service: OrderService) => Promise<ReturnType<typeof createServer>>>> = {
  'nodeHandler without attach': async (service) => createServer(nodeHandler(service)),
  'nodeHandler with attach': async (service) => {
    const handle = nodeHandler(service);
    return handle.attach(createServer(handle));
  },
  koaMiddleware: async (service) => createServer(new Koa().use(koaMiddleware(service)).callback()),
  fastifyPlugin: async (service) => {
    const app = fastify();
    await app.register(fastifyPlugin(service));
    await app.ready();
    return app.server;
  },
};

/** Starts a server on which every cancellation waits until the test calls `release`. */
async function serve(t: TestContext, mount: (service: OrderService) => Promise<ReturnType<typeof createServer>>) {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const cancelled: number[] = [];
  const cancel = async (id: bigint) => {
    await gate;
    cancelled.push(Number(id));
    return 'cancelled' as const;
  };
  const authenticate = () => ({ id: 'pipeliner', plan: PLENTY });
  const server = await mount(createShop({ store: fakeStore({ cancel }), authenticate }).service);
  const { origin, close } = await listening(server);
  t.after(close);
  let requests = 0;
  server.on('request', () => requests++);
  return { port: Number(new URL(origin).port), cancelled, release, requests: () => requests };
}

for (const [name, mount] of Object.entries(MOUNTS)) {
  test(`${name}: seventeen pipelined requests get their responses in order, and no later one is parsed or carried out`, {
    timeout: 10_000,
  }, async (t) => {
    for (const isSlow of [true, false]) {
      const { port, cancelled, release, requests } = await serve(t, mount);
      if (!isSlow) release();
      const ids = Array.from({ length: 1_000 }, (_, id) => id);
      const received = readAll(open(port, ids.map((id) => request(id)).join('')));
      await sleep(20);
      release();
      const { answers } = await received;
      assert.deepEqual([answers.length, cancelled, requests()], [MOST, ids.slice(0, MOST), MOST]);
      assert.deepEqual(
        answers.map(({ fields }) => fields.get('connection')),
        [...Array.from({ length: MOST - 1 }, () => 'keep-alive'), 'close'],
      );
    }
  });

  test(`${name}: a client that pipelines up to sixteen requests at a time keeps its connection`, async (t) => {
    const { port, release } = await serve(t, mount);
    release();
    const socket = open(port);
    let received = '';
    socket.setEncoding('latin1').on('data', (piece) => {
      received += piece;
    });
    for (let round = 1; round <= 20; round++) {
      socket.write(request(round).repeat(16));
      while (received.split('HTTP/1.1 204').length <= 16 * round) await sleep(1);
    }
    assert.doesNotMatch(received, /close/);
    socket.destroy();
  });
}

const addressPlan = createPlan({ name: 'address', partition: 'address', policies: [perMinute(1)] });

test('after a 429 to an address over its limit, no further request of the connection is parsed', async (t) => {
  const { service } = createShop({ addressPlan });
  await service.respond({ method: 'GET', url: ORDERS, rawHeaders: [] }, '127.0.0.1');
  const server = createServer(nodeHandler(service));
  let requests = 0;
  server.on('request', () => requests++);
  const { origin, close } = await listening(server);
  t.after(close);
  const keyless = `GET ${ORDERS} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const { answers } = await readAll(open(Number(new URL(origin).port), keyless.repeat(100)));
  assert.deepEqual([answers.map(({ status }) => status), requests], [[429], 1]);
});

test('the handler also answers a request over the limit of its address that came over no connection', async () => {
  const handle = nodeHandler(createShop({ addressPlan }).service);
  for (const status of [401, 429]) assert.equal((await inject(handle, { url: ORDERS })).statusCode, status);
});
