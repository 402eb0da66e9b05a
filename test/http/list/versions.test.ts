import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { ListedOrders, Order } from 'store-orders';
import { fakeStore, pagesOf, withVersion } from '../../support/fake-store.js';
import { createDeferred, until } from '../../support/until.js';
import { assertError } from '../support/answer.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { asking, openShop, WAYS } from '../support/ways.js';

const PAGES: readonly Order[][] = [[{ id: 1n }, { id: 2n }], [], [{ id: 3n }]];
const SERIALIZED = '[{"id":1},{"id":2},{"id":3}]';

/** Creates a store of pages with a version, which are read once `opened` resolves. */
function createPagedStore(pages: readonly (readonly Order[] | Error)[], opened = Promise.resolve()) {
  const counts = { lists: 0, readings: 0, version: 1 };
  const list = () => {
    counts.lists++;
    return {
      version: counts.version,
      async *[Symbol.asyncIterator]() {
        counts.readings++;
        await opened;
        yield* pagesOf(pages);
      },
    };
  };
  return { store: fakeStore({ list }), counts };
}

for (const way of WAYS) {
  test(`each version of the pages is read only once for all requests, even if they come while it is read (${way.name})`, async (t) => {
    const { promise: opened, resolve: open } = createDeferred();
    const { store, counts } = createPagedStore(PAGES, opened);
    const { ask } = await openShop(t, way, { store });
    const early = [ask('GET', ORDERS, [KEY]), ask('GET', ORDERS, [KEY]), ask('HEAD', ORDERS, [KEY])];
    await until(() => counts.lists === 3);
    open();
    for (const { status, text, fields } of [...(await Promise.all(early)), await ask('GET', ORDERS, [KEY])]) {
      assert.deepEqual([status, fields.get('content-length')], [200, `${SERIALIZED.length}`]);
      assert.ok(text === SERIALIZED || text === '');
    }
    assert.equal(counts.readings, 1);
    counts.version++;
    assert.equal((await ask('GET', ORDERS, [KEY])).text, SERIALIZED);
    assert.equal(counts.readings, 2);
  });

  test(`pages that are not ASCII are sent byte for byte (${way.name})`, async (t) => {
    const page = '{"id":1,"shipDate":"é"}';
    const list = () => Object.assign(Readable.from([page]), { version: 1 });
    const { ask } = await openShop(t, way, { store: fakeStore({ list }) });
    assert.equal((await ask('GET', ORDERS, [KEY])).text, Buffer.from(`[${page}]`).toString('latin1'));
  });

  test(`if versioned pages fail, even after the first page, the response is a 503, and the next request reads them again (${way.name})`, async (t) => {
    for (const pages of [[new Error('the file is gone')], [[{ id: 1n }], new Error('the file is gone')]]) {
      const { store, counts } = createPagedStore(pages);
      const { ask } = await openShop(t, way, { store });
      for (const field of [
        ['If-None-Match', '"x"'],
        ['Accept-Encoding', 'gzip'],
      ] as const) {
        assertError(await ask('GET', ORDERS, [KEY, field]), 'service_unavailable');
      }
      assert.equal(counts.readings, 2);
    }
  });
}

test('once a version is serialised, its readers need no promise; an earlier version that fails late does not drop it', async () => {
  const { promise: opened, resolve: open } = createDeferred();
  const failed = createPagedStore([new Error('the file is gone')], opened);
  const settled = createPagedStore(PAGES);
  settled.counts.version++;
  let { list } = failed.store;
  const { service } = createShop({ store: fakeStore({ list: () => list() }) });
  const respond = () => service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY });
  const failing = respond();
  list = settled.store.list;
  assert.equal((await respond()).body, SERIALIZED);
  open();
  assert.equal((await failing).status, 503);
  const reply = respond();
  assert.ok(!(reply instanceof Promise));
  assert.deepEqual([reply.body, settled.counts.readings], [SERIALIZED, 1]);
});

test('an array is serialised once for each version, and for each request if it has none', async () => {
  let readings = 0;
  const order = {
    get id() {
      readings++;
      return 1n;
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
    assert.equal((await ask('GET', ORDERS, [KEY])).text, '[{"id":1}]');
    assert.equal(readings, expected);
  }
});

test('pages may be strings or UTF-8 bytes, and both have the same entity tag as an array of the same orders', async () => {
  const bytes = Object.assign(Readable.from([Buffer.from('{"id":1},{"id":2}'), Buffer.from('{"id":3}')]), {
    version: 2,
  });
  const tags = new Set<string | undefined>();
  for (const listed of [pagesOf(PAGES, 'text'), bytes, PAGES.flat(), withVersion(PAGES.flat())]) {
    const { service } = createShop({ store: fakeStore({ list: () => listed }) });
    const { text, fields } = await asking(service)('GET', ORDERS, [KEY]);
    assert.equal(text, SERIALIZED);
    tags.add(fields.get('etag'));
  }
  assert.equal(tags.size, 1);
});
