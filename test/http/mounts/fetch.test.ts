import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchHandler } from 'store-orders/fetch';
import { fakeStore, pagesOf } from '../../support/fake-store.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';

const URL = `http://orders.test${ORDERS}`;

test('clientAddress gets the arguments that the runtime passes to the handler after the request; requests without an address share one limit', async () => {
  const { service } = createShop();
  const withAddress = fetchHandler(service, {
    clientAddress: (_, info: { readonly remote: string }, extra: number) => (extra === 1 ? info.remote : undefined),
  });
  const without = fetchHandler(service);
  for (const [response, remaining] of [
    [withAddress(new Request(URL), { remote: '192.0.2.1' }, 1), 599],
    [withAddress(new Request(URL), { remote: '192.0.2.1' }, 1), 598],
    [withAddress(new Request(URL), { remote: '192.0.2.2' }, 1), 599],
    [withAddress(new Request(URL), { remote: '192.0.2.2' }, 2), 599],
    [without(new Request(URL)), 598],
    // srvx and h3 set `ip`.
    [without(Object.assign(new Request(URL), { ip: '192.0.2.2' })), 598],
  ] as const) {
    assert.equal((await response).headers.get('X-RateLimit-Remaining'), `${remaining}`);
  }
});

test('responses have no Connection field, because the connection belongs to the runtime', async () => {
  const { service } = createShop();
  const handle = fetchHandler(service);
  const cancel = { method: 'DELETE', headers: [KEY, ['Content-Length', '2']] satisfies [string, string][], body: '{}' };
  for (const expected of [204, 503]) {
    const { status, headers } = await handle(new Request(`${URL}/1`, cancel));
    assert.deepEqual([status, headers.has('connection')], [expected, false]);
    await service.close();
  }
});

test('with compressLists: false, a list is sent uncompressed to a client that accepts codings, for a host that compresses it', async () => {
  const orders = Array.from({ length: 300 }, (_, id) => ({ id: BigInt(id) }));
  const { service } = createShop({ store: fakeStore({ list: () => orders }) });
  for (const [options, coding] of [
    [undefined, 'gzip'],
    [{}, 'gzip'],
    [{ compressLists: true }, 'gzip'],
    [{ compressLists: false }, null],
  ] as const) {
    const handle = fetchHandler(service, options);
    const { headers } = await handle(new Request(URL, { headers: [KEY, ['Accept-Encoding', 'gzip']] }));
    assert.deepEqual([headers.get('content-encoding'), headers.get('vary')], [coding, 'Accept-Encoding']);
  }
});

test('a list of one piece is whole for the next reader, after a host has taken its bytes into a byte stream', async () => {
  const list = () => pagesOf([[{ id: 1n, shipDate: 'x'.repeat(200_000) }]], 'v1');
  const handle = fetchHandler(createShop({ store: fakeStore({ list }) }).service);
  const ask = async () => (await handle(new Request(URL, { headers: [KEY] }))).body ?? assert.fail();
  const [first, second] = [await ask(), await ask()];
  const bytes = new ReadableStream({
    type: 'bytes',
    async start(controller) {
      for await (const chunk of first) controller.enqueue(chunk);
      controller.close();
    },
  });
  const { length } = await new Response(bytes).text();
  assert.equal((await new Response(second).text()).length, length);
});
