import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Order } from 'store-orders';
import { fakeStore } from '../support/fake-store.js';
import { createShop, KEY, ORDERS } from './support/shop.js';

const GET = { method: 'GET', url: ORDERS, rawHeaders: KEY };

/** Creates a service whose lists wait until the test finishes them. */
function createSlowShop() {
  const finish: ((orders: readonly Order[]) => void)[] = [];
  const list = () => new Promise<readonly Order[]>((resolve) => finish.push(resolve));
  const { service } = createShop({ store: fakeStore({ list }) });
  return { service, finish };
}

async function settleAll(): Promise<void> {
  await new Promise(setImmediate);
}

test('after close() every request gets 503 and its connection is closed', async () => {
  const { service, store } = createShop();
  await service.close();
  const { status, headers } = await service.respond({ method: 'DELETE', url: `${ORDERS}/1`, rawHeaders: KEY });
  assert.equal(status, 503);
  assert.equal(headers[headers.indexOf('Connection') + 1], 'close');
  assert.equal(store.get(1n)?.status, 'pending');
});

test('close() resolves only when every earlier request has its reply', async () => {
  const { service, finish } = createSlowShop();
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
  async function* list() {
    yield '{"id":1}';
    yield '{"id":2}';
  }
  const { service } = createShop({ store: fakeStore({ list }) });
  const { body } = await service.respond(GET);
  let isClosed = false;
  const closed = service.close().then(() => {
    isClosed = true;
  });
  let text = '';
  assert.ok(typeof body === 'object' && Symbol.asyncIterator in body);
  for await (const piece of body) {
    await settleAll();
    assert.equal(isClosed, false);
    text += piece;
  }
  assert.equal(text, '[{"id":1},{"id":2}]');
  await closed;
});

test('close() resolves immediately if the service is idle, and also resolves if the last request fails', async () => {
  await createShop().service.close();
  const { service } = createShop({ authenticate: () => Promise.reject(new Error('down')) });
  const reply = service.respond(GET);
  const closed = service.close();
  assert.equal((await reply).status, 503);
  await closed;
});
