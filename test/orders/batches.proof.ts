import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import {
  createMemoryOrderStore,
  type OrderInput,
  type OwnedOrderStore,
  printOrders,
  type StreamedText,
} from 'store-orders';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryFile } from '../support/temporary-file.js';

const ordersFrom = (first: number, count: number, step = 10): OrderInput[] =>
  Array.from({ length: count }, (_, index) => ({ id: first + step * index, quantity: index }));

test('after a put, the next list of the memory store reuses all frozen batches that the put did not change', () => {
  const store = createMemoryOrderStore(ordersFrom(0, 30_000));
  let before: readonly unknown[] = store.list();
  const fresh = () => {
    const listed = store.list();
    assert.ok(Object.isFrozen(listed) && listed.every(Object.isFrozen));
    const count = listed.filter((batch) => !before.includes(batch)).length;
    before = listed;
    return count;
  };
  const rows: [string, OrderInput[], number][] = [
    ['one order changed', [{ id: 150_000 }], 1],
    ['one order inserted', [{ id: 150_001 }], 1],
    ['one order inserted before all others', [{ id: -1 }], 1],
    ['one order inserted after all others', [{ id: 2_000_000 }], 1],
    ['one order put into each of three batches', [{ id: 0 }, { id: 200_005 }, { id: 2_000_001 }], 3],
    ['no order', [], 0],
  ];
  for (const [name, orders, count] of rows) {
    store.put(orders, { replace: true });
    assert.equal(fresh(), count, name);
  }
  store.cancel(0n);
  assert.equal(store.list(), before, 'a cancel does not change the list');
});

/**
 * Random sequences of puts. A put has few or many orders, whose ids are close together or far
 * apart.
 */
const puts = fc.array(
  fc.record({
    first: fc.integer({ min: -20_000, max: 20_000 }),
    count: fc.oneof(fc.constantFrom(1, 2, 1_500), fc.nat(40)),
    step: fc.integer({ min: 1, max: 30 }),
    isListed: fc.boolean(),
  }),
  { minLength: 1, maxLength: 10 },
);

test('after any sequence of puts and lists, the memory store lists the latest version of each order once, in ascending order of ids', () => {
  fc.assert(
    fc.property(puts, (changes) => {
      const store = createMemoryOrderStore();
      const model = new Map<number, number>();
      for (const [turn, { first, count, step, isListed }] of changes.entries()) {
        const orders = ordersFrom(first, count, step).map(({ id }) => ({ id: Number(id), quantity: turn }));
        for (const { id, quantity } of orders) model.set(id, quantity);
        store.put(orders, { replace: true });
        if (isListed) store.list();
      }
      const expected = [...model].sort(([a], [b]) => a - b).map(([id, quantity]) => ({ id: BigInt(id), quantity }));
      assert.deepEqual(store.list().flat(), expected);
    }),
    { numRuns: 60 },
  );
});

interface Listing {
  readonly versions: readonly object[];
  readonly text: string;
}

/**
 * Reads a list as the service does. It reuses the text of each batch whose version is in `known`.
 */
async function listing(store: OwnedOrderStore, known: Map<object, string>): Promise<Listing> {
  const listed = await store.list();
  assert.ok(Symbol.asyncIterator in listed, 'a long list is an async iterable');
  const versions: object[] = [];
  const texts: string[] = [];
  for await (const batch of listed) {
    assert.ok(isVersioned(batch));
    const text = known.get(batch.version) ?? (await batch.text());
    assert.equal(await batch.text(), text, 'batches with the same version have the same text');
    known.set(batch.version, text);
    versions.push(batch.version);
    texts.push(text);
  }
  return { versions, text: `[${texts.join(',')}]` };
}

function isVersioned(batch: unknown): batch is StreamedText {
  return typeof batch === 'object' && batch !== null && 'version' in batch;
}

async function openedWith(t: TestContext, orders: readonly OrderInput[]) {
  const file = temporaryFile();
  const store = openSqliteOrderStore(file);
  t.after(() => store.close());
  await store.put(orders);
  return { file, store };
}

test('after a put by any process, only the changed batches of the list are read again from a SQLite file', async (t) => {
  const { file, store } = await openedWith(t, ordersFrom(0, 20_000));
  const other = openSqliteOrderStore(file);
  t.after(() => other.close());
  const known = new Map<object, string>();
  let before = await listing(store, known);
  const rows: [string, OwnedOrderStore, OrderInput[], number][] = [
    ['one order changed', store, [{ id: 100_000 }], 1],
    ['one order changed by another store', other, [{ id: 100_010 }], 1],
    ['one order inserted before all others', other, [{ id: -1 }], 1],
    ['two orders inserted after all others, when the last batch is full', store, [{ id: 300_000 }, { id: 300_001 }], 2],
    ['one order inserted into each of three batches', store, [{ id: 1 }, { id: 90_001 }, { id: 300_002 }], 3],
  ];
  for (const [name, from, orders, count] of rows) {
    await from.put(orders, { replace: true });
    const after = await listing(store, known);
    assert.equal(after.versions.filter((version) => !before.versions.includes(version)).length, count, name);
    assert.equal(after.text, (await listing(other, new Map())).text, name);
    before = after;
  }
});

test('a SQLite store that cannot tell which orders have changed reads the whole list again', async (t) => {
  const { file, store } = await openedWith(t, ordersFrom(0, 5_000));
  const database = openSqliteDatabase(file);
  t.after(() => database.close());
  const known = new Map<object, string>();
  const changes: (() => unknown)[] = [
    () => store.put(ordersFrom(1, 1_500), { replace: true }),
    // Another program reports that something has changed, but not which orders.
    () =>
      database.exec('UPDATE orders SET quantity = 7 WHERE id = 10; UPDATE orders_revision SET revision = revision + 1'),
    async () => {
      database.exec('UPDATE orders SET quantity = 8 WHERE id = 10; UPDATE orders_revision SET revision = revision + 1');
      await store.put([{ id: 4_000, quantity: 9 }], { replace: true });
    },
    async () => {
      for (let i = 0; i < 1_010; i++) await store.put([{ id: i % 7, quantity: i }], { replace: true });
    },
  ];
  for (const change of changes) {
    const before = await listing(store, known);
    await change();
    const after = await listing(store, known);
    assert.equal(
      after.versions.some((version) => before.versions.includes(version)),
      false,
    );
    const fresh = openSqliteOrderStore(file);
    assert.equal(after.text, (await listing(fresh, new Map())).text);
    await fresh.close();
  }
});

test('after any puts, the list from a SQLite file has the same text as the list of the memory store', async () => {
  await fc.assert(
    fc.asyncProperty(puts, async (changes) => {
      const store = openSqliteOrderStore(temporaryFile());
      const memory = createMemoryOrderStore();
      const known = new Map<object, string>();
      for (const part of [store, memory]) await part.put(ordersFrom(-10_000, 2_000));
      for (const [turn, { first, count, step, isListed }] of changes.entries()) {
        const orders = ordersFrom(first, count, step).map(({ id }) => ({ id, quantity: turn }));
        for (const part of [store, memory]) await part.put(orders, { replace: true });
        if (isListed) await listing(store, known);
      }
      assert.equal((await listing(store, known)).text, printOrders(memory.list().flat()));
      await store.close();
    }),
    { numRuns: 12 },
  );
});
