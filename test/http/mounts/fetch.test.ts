import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchHandler } from 'store-orders/fetch';
import { fakeStore } from '../../support/fake-store.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';

const remainingOf = (response: Response) => Number(response.headers.get('X-RateLimit-Remaining'));

test('clientAddress gets the arguments that the runtime passes to the handler after the request', async () => {
  const handle = fetchHandler(createShop().service, {
    clientAddress: (_, info: { readonly remote: string }, extra: number) => (extra === 1 ? info.remote : undefined),
  });
  const ask = async (remote: string, extra = 1) =>
    remainingOf(await handle(new Request(`http://orders.test${ORDERS}`), { remote }, extra));
  assert.equal(await ask('192.0.2.1'), 599);
  assert.equal(await ask('192.0.2.1'), 598);
  assert.equal(await ask('192.0.2.2'), 599);
  assert.equal(await ask('192.0.2.2', 2), 599);
});

test('if the handler does not know the client address, all requests without a valid key share one limit', async () => {
  const handle = fetchHandler(createShop().service);
  for (const remaining of [599, 598]) {
    assert.equal(remainingOf(await handle(new Request(`https://other.test${ORDERS}`))), remaining);
  }
});

test('responses have no Connection field, because the connection belongs to the runtime', async () => {
  const { service } = createShop();
  const handle = fetchHandler(service);
  const url = `http://orders.test${ORDERS}/1`;
  const headers = [KEY, ['Content-Length', '2']] satisfies [string, string][];
  const content = await handle(new Request(url, { method: 'DELETE', headers, body: '{}' }));
  await service.close();
  const closed = await handle(new Request(url, { method: 'DELETE', headers: [KEY] }));
  for (const [{ status, headers }, expected] of [
    [content, 204],
    [closed, 503],
  ] as const) {
    assert.deepEqual([status, headers.has('connection')], [expected, false]);
  }
});

test('with compressLists: false, a list is sent uncompressed to a client that accepts codings, for a host that compresses it', async () => {
  const orders = Array.from({ length: 300 }, (_, id) => ({ id: BigInt(id) }));
  const { service } = createShop({ store: fakeStore({ list: () => orders }) });
  for (const [compressLists, coding] of [
    [undefined, 'gzip'],
    [true, 'gzip'],
    [false, null],
  ] as const) {
    const handle = fetchHandler(service, { compressLists });
    const request = new Request(`http://orders.test${ORDERS}`, { headers: [KEY, ['Accept-Encoding', 'gzip']] });
    const { headers } = await handle(request);
    assert.deepEqual([headers.get('content-encoding'), headers.get('vary')], [coding, 'Accept-Encoding']);
  }
});
