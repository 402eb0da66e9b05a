import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { ListedOrders, Order } from 'store-orders';
import { fakeStore, pagesOf, withVersion } from '../../support/fake-store.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { asking, openShop, WAYS } from '../support/ways.js';

for (const way of WAYS) {
  test(`pages that are not ASCII are sent byte for byte (${way.name})`, async (t) => {
    const page = '{"id":1,"shipDate":"é"}';
    const list = () => Object.assign(Readable.from([page]), { version: 1 });
    const { ask } = await openShop(t, way, { store: fakeStore({ list }) });
    assert.equal((await ask('GET', ORDERS, [KEY])).text, Buffer.from(`[${page}]`).toString('latin1'));
  });
}

test('an array is serialised once for each version, and for each request if it has none', async () => {
  let readings = 0;
  const order = {
    id: 1n,
    get petId() {
      readings++;
      return 7n;
    },
  };
  let listed: ListedOrders = [];
  const ask = asking(createShop({ store: fakeStore({ list: () => listed }) }).service);
  for (const [orders, expected] of [
    [withVersion([order]), 1],
    [withVersion([order]), 1],
    [withVersion([order], 'v2'), 2],
    [[order], 3],
    [[order], 4],
    [withVersion([order], 'v2'), 4],
  ] as const) {
    listed = orders;
    assert.equal((await ask('GET', ORDERS, [KEY])).text, '[{"id":1,"petId":7}]');
    assert.equal(readings, expected);
  }
});

test('pages may be strings or UTF-8 bytes, and both have the same entity tag as an array of the same orders', async () => {
  const bytes = Object.assign(Readable.from([Buffer.from('{"id":1},{"id":2}'), Buffer.from('{"id":3}')]), {
    version: 2,
  });
  const pages: readonly Order[][] = [[{ id: 1n }, { id: 2n }], [], [{ id: 3n }]];
  const tags = new Set<string | undefined>();
  for (const listed of [pagesOf(pages, 'text'), bytes, pages.flat(), withVersion(pages.flat())]) {
    const { service } = createShop({ store: fakeStore({ list: () => listed }) });
    const { text, fields } = await asking(service)('GET', ORDERS, [KEY]);
    assert.equal(text, '[{"id":1},{"id":2},{"id":3}]');
    tags.add(fields.get('etag'));
  }
  assert.equal(tags.size, 1);
});
