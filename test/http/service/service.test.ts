import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryObjects } from 'node:v8';
import type { Order, Reply, RequestHead } from 'store-orders';
import { fakeStore, pagesOf } from '../../support/fake-store.js';
import { authenticate, createShop, GET, KEY, ORDERS } from '../support/shop.js';

test('if authenticate, the limiter and the store are synchronous, every reply is returned without a promise', async () => {
  const statusOf = (reply: Reply | Promise<Reply>) => {
    assert.ok(!('then' in reply));
    return reply.status;
  };
  const { service, limiter } = createShop();
  const rows: [number, RequestHead][] = [
    [200, GET],
    [200, { ...GET, method: 'HEAD' }],
    [200, { ...GET, httpVersion: '2.0', stream: {} }],
    [204, { ...GET, method: 'DELETE', url: `${ORDERS}/1` }],
    [409, { ...GET, method: 'DELETE', url: `${ORDERS}/1` }],
    [404, { ...GET, method: 'DELETE', url: `${ORDERS}/404` }],
    [404, { ...GET, method: 'DELETE', url: `${ORDERS}/abc` }],
    [404, { ...GET, url: '/' }],
    [404, { rawHeaders: KEY }],
    [405, { ...GET, method: 'CONNECT' }],
    [405, { ...GET, method: 'TRACE' }],
    [501, { ...GET, method: 'get' }],
    [501, { url: ORDERS, rawHeaders: KEY }],
    [414, { ...GET, url: `${ORDERS}?${'x'.repeat(9_000)}` }],
    [400, { ...GET, rawHeaders: ['Host', '', ...KEY] }],
    [401, { ...GET, rawHeaders: [] }],
    [401, { ...GET, rawHeaders: ['Authorization', 'Bearer nobody'] }],
  ];
  for (const [status, head] of rows) {
    assert.equal(statusOf(service.respond(head, '192.0.2.1')), status, `${head.method} ${head.url}`);
  }
  limiter.ban('owner', 1_000);
  assert.equal(statusOf(service.respond(GET)), 429);
  assert.equal(statusOf(service.refuse('bad_request', '192.0.2.1')), 400);
  assert.equal(statusOf(createShop({ authenticate: () => assert.fail() }).service.respond(GET)), 503);
  await service.close();
  assert.equal(statusOf(service.respond(GET)), 503);
  const ordersOf = (length: number) => Array.from({ length }, (_, id): Order => ({ id: BigInt(id) }));
  const listing = (length: number) =>
    createShop({ store: fakeStore({ list: () => ordersOf(length) }) }).service.respond(GET);
  assert.equal(statusOf(listing(512)), 200);
  assert.ok('then' in listing(513), 'a longer list is serialised in several passes of the event loop');
});

const settleAll = () => new Promise(setImmediate);

test('close() resolves only when every earlier request has its reply', async () => {
  const finish: ((orders: readonly Order[]) => void)[] = [];
  const list = () => new Promise<readonly Order[]>((resolve) => finish.push(resolve));
  const { service } = createShop({ store: fakeStore({ list }) });
  const order: string[] = [];
  for (const name of ['first', 'second']) {
    void Promise.resolve(service.respond(GET)).then(({ status, headers }) => {
      order.push(`${name} ${status} ${headers.at(-1)}`);
    });
  }
  // The second call of `close` must wait for the same requests as the first.
  for (const name of ['closed', 'closed again']) void service.close().then(() => order.push(name));
  await settleAll();
  finish[0]?.([]);
  await settleAll();
  assert.deepEqual(order, ['first 200 close']);
  finish[1]?.([]);
  await settleAll();
  assert.deepEqual(order, ['first 200 close', 'second 200 close', 'closed', 'closed again']);
});

test('close() waits until a streamed list has been read to its end', async () => {
  const { service } = createShop({ store: fakeStore({ list: () => pagesOf([[{ id: 1n }], [{ id: 2n }]]) }) });
  const { body } = await service.respond(GET);
  assert.ok(typeof body === 'object' && Symbol.asyncIterator in body);
  const told: string[] = [];
  const closed = service.close().then(() => told.push('closed'));
  for await (const piece of body) {
    await settleAll();
    told.push(`${piece}`);
  }
  await closed;
  assert.deepEqual(told, ['[{"id":1}', ',{"id":2}', ']', 'closed']);
});

test('the service holds nothing of a request after its reply, not even a promise', async () => {
  const { service } = createShop({ authenticate: async (apiKey) => authenticate(apiKey) });
  const promisesAfter = async (requests: number) => {
    for (let i = 0; i < requests; i++) await service.respond(GET);
    await settleAll();
    return queryObjects(Promise, { format: 'count' });
  };
  const before = await promisesAfter(100);
  const growth = (await promisesAfter(300)) - before;
  assert.ok(growth < 100, `${growth} promises after 300 requests`);
});
