import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedOrders, Order } from 'store-orders';
import { fakeStore, pagesOf, withVersion } from '../../support/fake-store.js';
import { assertError } from '../support/answer.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { type Ask, core, WAYS, withShop } from '../support/ways.js';

const PAGES: readonly Order[][] = [[{ id: 1n }, { id: 2n }], [], [{ id: 3n }]];
const SERIALIZED = '[{"id":1},{"id":2},{"id":3}]';

/** Creates a store of pages with a version, which wait for a call of `open`. */
function createGatedStore(pages: readonly (readonly Order[] | Error)[]) {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let readings = 0;
  let version = 1;
  const list = () => ({
    version,
    async *[Symbol.asyncIterator]() {
      readings++;
      await gate;
      yield* pagesOf(pages);
    },
  });
  const change = () => {
    version++;
  };
  return { store: fakeStore({ list }), open, change, readings: () => readings };
}

for (const way of WAYS) {
  test(`each version of the pages is read only once for all requests, even if they come while it is read (${way.name})`, () => {
    const { store, open, change, readings } = createGatedStore(PAGES);
    const check = async (ask: Ask) => {
      const early = [ask('GET', ORDERS, [KEY]), ask('GET', ORDERS, [KEY]), ask('HEAD', ORDERS, [KEY])];
      open();
      for (const { status, text, fields } of [...(await Promise.all(early)), await ask('GET', ORDERS, [KEY])]) {
        assert.deepEqual([status, fields.get('content-length')], [200, `${SERIALIZED.length}`]);
        assert.ok(text === SERIALIZED || text === '');
      }
      assert.equal(readings(), 1);
      change();
      assert.equal((await ask('GET', ORDERS, [KEY])).text, SERIALIZED);
      assert.equal(readings(), 2);
    };
    return withShop(way, check, { store });
  });

  test(`pages that are not ASCII are sent byte for byte (${way.name})`, () => {
    const page = '{"id":1,"shipDate":"é"}';
    async function* pages() {
      yield page;
    }
    const list = () => Object.assign(pages(), { version: 1 });
    const check = async (ask: Ask) => {
      assert.equal((await ask('GET', ORDERS, [KEY])).text, Buffer.from(`[${page}]`).toString('latin1'));
    };
    return withShop(way, check, { store: fakeStore({ list }) });
  });

  test(`if versioned pages fail, even after the first page, the response is a 503, and the next request reads them again (${way.name})`, async () => {
    for (const pages of [[new Error('the file is gone')], [[{ id: 1n }], new Error('the file is gone')]]) {
      const { store, open, readings } = createGatedStore(pages);
      open();
      const check = async (ask: Ask) => {
        for (const field of [
          ['If-None-Match', '"x"'],
          ['Accept-Encoding', 'gzip'],
        ] as const) {
          assertError(await ask('GET', ORDERS, [KEY, field]), 'service_unavailable');
        }
        assert.equal(readings(), 2);
      };
      await withShop(way, check, { store });
    }
  });
}

test('an array is serialised once for each version, and for each request if it has none', async () => {
  let readings = 0;
  const order = {
    get id() {
      readings++;
      return 1n;
    },
  };
  const rows = [
    [withVersion([order]), 1],
    [withVersion([order]), 1],
    [withVersion([order], 'v2'), 2],
    [[order], 3],
    [[order], 4],
  ] as const;
  let listed: ListedOrders = [];
  const check = async (ask: Ask) => {
    for (const [orders, expected] of rows) {
      listed = orders;
      assert.equal((await ask('GET', ORDERS, [KEY])).text, '[{"id":1}]');
      assert.equal(readings, expected);
    }
  };
  await withShop(core, check, { store: fakeStore({ list: () => listed }) });
});

test('pages may be strings or UTF-8 bytes, and both have the same entity tag as an array of the same orders', async () => {
  const orders = PAGES.flat();
  const tags = await Promise.all(
    [
      pagesOf(PAGES, 'text'),
      Object.assign(pagesOf([]), {
        version: 2,
        async *[Symbol.asyncIterator]() {
          for await (const page of pagesOf(PAGES)) yield Buffer.from(page);
        },
      }),
      orders,
      withVersion(orders),
    ].map(async (listed) => {
      const { service } = createShop({ store: fakeStore({ list: () => listed }) });
      const { status, headers } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY });
      assert.equal(status, 200);
      return headers[headers.indexOf('ETag') + 1];
    }),
  );
  assert.deepEqual(new Set(tags).size, 1);
});
