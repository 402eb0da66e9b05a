import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { Order, OrderId, OrderInput, OrderStore, OwnedOrderStore } from 'store-orders';
import { parseJson } from 'store-orders/json';
import { orderStoreSuite } from 'store-orders/testing';
import { serializeOrders } from '../../../dist/orders/json.js';
import { toOrder, toOrderRecord } from '../../../dist/orders/record.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { INT64_MAX } from './ids.js';
import { orderRecord } from './order-arbitrary.js';

/**
 * Defines the tests that every bundled store must pass: the exported suite, and tests of the
 * methods that only the owner of a store calls. `open` returns a store over the named file. A store
 * in memory ignores the name.
 */
export function testOrderStore(name: string, open: (file: string) => OwnedOrderStore | Promise<OwnedOrderStore>): void {
  async function stored(t: TestContext, ...orders: OrderInput[]): Promise<OwnedOrderStore> {
    const store = await open(temporaryFile());
    t.after(store.close);
    assert.deepEqual(await store.put(orders), { outcome: 'stored', count: orders.length });
    return store;
  }

  describe(name, () => {
    const cases = orderStoreSuite(async (orders) => {
      const store = await open(temporaryFile());
      await store.put(orders);
      return { store, ship: store.ship, close: store.close };
    });
    for (const { name, run } of cases) test(name, run);

    test('put rejects an unknown or invalid option, and stores nothing', async (t) => {
      const store = await stored(t, { id: 1n, quantity: 1 });
      for (const [options, message] of [
        [{ overwrite: true }, 'overwrite: unknown option; expected one of replace'],
        [{ replace: 'no' }, 'replace: expected true or false'],
      ] as const) {
        const put = async () => store.put([{ id: 1n, quantity: 2 }, { id: 2n }], Object(options));
        await assert.rejects(put, { name: 'TypeError', message });
      }
      assert.deepEqual(await listed(store), [{ id: 1n, quantity: 1 }]);
    });

    test('get returns an order with exactly the fields and values that were put', async (t) => {
      const store = await stored(t);
      await fc.assert(
        fc.asyncProperty(orderRecord, async (record) => {
          await store.put([record], { replace: true });
          assert.deepEqual(await store.get(record.id), record);
        }),
        { numRuns: 50 },
      );
    });

    test('a list of any length has the bytes of serializeOrders', async (t) => {
      const store = await stored(t);
      const records = fc
        .sample(orderRecord, 4_000)
        .map((record, index) => ({ ...record, id: INT64_MAX - 3_999n + BigInt(index) }));
      // The stores read lists in pages of 1,000 and 2,000 orders. Only the longest list has the
      // greatest id.
      for (const count of [1_999, 2_000, 2_001, 4_000]) {
        const some = records.slice(0, count);
        await store.put(some.toReversed(), { replace: true });
        const list = await store.list();
        const text = Symbol.asyncIterator in list ? await textOf(list) : serializeOrders(list);
        assert.equal(text, serializeOrders(some));
      }
    });

    test('a list keeps its version until it changes', async (t) => {
      const store = await stored(t, { id: 1n }, { id: 2n });
      const versionOf = async () => (await store.list()).version;
      const before = await versionOf();
      assert.equal(typeof before, 'string');
      await store.cancel(1n);
      await store.ship(2n);
      await store.put([{ id: 1n }]);
      await store.put([]);
      assert.equal(await versionOf(), before);
      await store.put([{ id: 3n }]);
      const after = await versionOf();
      await store.put([{ id: 3n, quantity: 1 }], { replace: true });
      assert.equal(new Set([before, after, await versionOf()]).size, 3);
      assert.deepEqual(await listed(store), [{ id: 1n }, { id: 2n }, { id: 3n, quantity: 1 }]);
    });

    test('if one of the ids exists already, put reports that id and stores none of the orders', async (t) => {
      const store = await stored(t, { id: 5n, status: 'shipped' });
      assert.deepEqual(await store.put([{ id: 1n }, { id: 5n }, { id: 2n }]), { outcome: 'exists', id: 5n });
      assert.deepEqual(await store.put([{ id: 1n }, { id: 2n }, { id: 1n }]), { outcome: 'exists', id: 1n });
      assert.equal(await store.get(1n), undefined);
      assert.deepEqual(await listedIds(store), [5n]);
      assert.equal((await store.get(5n))?.status, 'shipped');
    });

    test('if one of the orders is invalid, put throws a TypeError and stores none of the orders', async (t) => {
      const store = await stored(t, { id: 5n });
      const put = async () => store.put([{ id: 1n }, { id: 5n }, { id: 2n, quantity: 0.5 }]);
      const message = 'order 2: quantity must be an integer between -(2^53-1) and 2^53-1';
      await assert.rejects(put, { name: 'TypeError', message });
      assert.deepEqual(await listedIds(store), [5n]);
    });

    test('put with replace overwrites whole orders, and keeps the last of several orders with the same id; any iterable is accepted', async (t) => {
      const store = await stored(t, { id: 1n, quantity: 1, complete: true, status: 'shipped' }, { id: 2n });
      assert.deepEqual(await store.put([], { replace: true }), { outcome: 'stored', count: 0 });
      const orders = new Set([{ id: 1n }, { id: 1n, petId: 7 }, { id: 3 }]).values();
      assert.deepEqual(await store.put(orders, { replace: true }), { outcome: 'stored', count: 2 });
      assert.deepEqual(await store.get(1n), { id: 1n, petId: 7n, status: 'pending' });
      assert.deepEqual(await listedIds(store), [1n, 2n, 3n]);
    });

    test('only a pending order can be shipped', async (t) => {
      for (const [status, outcome, next] of [
        ['pending', 'shipped', 'shipped'],
        ['shipped', 'already_shipped', 'shipped'],
        ['cancelled', 'already_cancelled', 'cancelled'],
        ['on_hold', 'not_pending', 'on_hold'],
        [undefined, 'not_found', undefined],
      ] as const) {
        const store = await stored(t, ...(status ? [{ id: 1n, status }] : []), { id: 2n });
        assert.equal(await store.ship(1n), outcome);
        assert.equal((await store.get(1n))?.status, next);
        assert.equal((await store.get(2n))?.status, 'pending');
      }
    });
  });
}

/** Returns the orders that a store lists. */
export async function listed(store: OrderStore): Promise<readonly Order[]> {
  const list = await store.list();
  if (!(Symbol.asyncIterator in list)) return list;
  return Array.from(Object(parseJson(await textOf(list))), (order: OrderInput) => toOrder(toOrderRecord(order)));
}

/** Returns all pages as one JSON array. */
export async function textOf(pages: AsyncIterable<string | Uint8Array>): Promise<string> {
  const texts: string[] = [];
  for await (const page of pages) texts.push(Buffer.from(page).toString());
  return `[${texts.join(',')}]`;
}

async function listedIds(store: OwnedOrderStore): Promise<OrderId[]> {
  return (await listed(store)).map(({ id }) => id);
}
