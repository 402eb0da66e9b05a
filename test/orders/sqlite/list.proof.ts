import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import {
  createMemoryOrderStore,
  type ListedOrders,
  type OrderBatch,
  printOrders,
  type StreamedText,
} from 'store-orders';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryFile } from '../../support/temporary-file.js';
import { orderRecord } from '../support/order-arbitrary.js';

const MANY = 25_000;
const many = Array.from({ length: MANY }, (_, index) => ({ id: 2 * index, petId: index % 90 }));

async function openedWithMany(t: TestContext) {
  const file = temporaryFile();
  const store = openSqliteOrderStore(file);
  t.after(() => store.close());
  await store.put(many);
  return { file, store };
}

test('list returns the same frozen iterable of batches until the list of orders changes', async (t) => {
  const { store } = await openedWithMany(t);
  const listed = await store.list();
  assert.ok(Symbol.asyncIterator in listed && Object.isFrozen(listed));
  await store.cancel(0n);
  assert.equal(await store.list(), listed);
  for (const round of ['first', 'second']) {
    const expected = many.map(({ id, petId }) => ({ id: BigInt(id), petId: BigInt(petId) }));
    assert.equal(await printed(listed), printOrders(expected), `the ${round} reading`);
  }
  await store.put([{ id: 1n }]);
  assert.notEqual(await store.list(), listed);
});

test('a long list is read from one snapshot, without orders that are put while it is read', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteOrderStore(file);
  t.after(() => other.close());
  let batches = 0;
  const texts: string[] = [];
  for await (const batch of batchesOf(await store.list())) {
    texts.push(await textOf(batch));
    if (++batches < 10) await other.put([{ id: 40_000 + 2 * batches + 1 }, { id: 4 * MANY + batches }]);
  }
  const ids = [...`${texts}`.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
  assert.deepEqual(
    ids,
    many.map(({ id }) => id),
  );
  assert.equal(await count(await store.list()), MANY + 18);
});

test('SQLite serialises a long list exactly as printOrders does, byte for byte', async (t) => {
  const file = temporaryFile();
  const store = openSqliteOrderStore(file);
  t.after(() => store.close());
  const records = fc.sample(orderRecord, { numRuns: 3_000, seed: 42 });
  await store.put(records, { replace: true });
  const memory = createMemoryOrderStore();
  memory.put(records, { replace: true });
  const expected = memory.list().flat();
  assert.ok(expected.length > 600);
  assert.equal(await printed(await store.list()), printOrders(expected));
});

test('reading a long list does not block the event loop, and a reader may stop early', async (t) => {
  const { store } = await openedWithMany(t);
  let turns = 0;
  let batches = 0;
  let isReading = true;
  const takeTurn = () => {
    turns++;
    if (isReading) setImmediate(takeTurn);
  };
  takeTurn();
  for await (const _ of batchesOf(await store.list())) batches++;
  isReading = false;
  assert.ok(batches > 10 && turns >= batches, `${turns} turns in ${batches} batches`);
  for await (const _ of batchesOf(await store.list())) break;
});

test('while another connection holds the write lock, cancels wait and lists do not', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const cancelled = store.cancel(2n);
  assert.equal(await count(await store.list()), MANY);
  assert.equal((await store.get(2n))?.status, 'pending');
  other.exec('COMMIT');
  assert.equal(await cancelled, 'cancelled');
});

test('if a trigger refuses a write, only that write is rejected; simultaneous and later writes are committed', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  other.exec("CREATE TRIGGER refuse BEFORE UPDATE ON orders WHEN OLD.id = 4 BEGIN SELECT RAISE(ABORT, 'refused'); END");
  const outcomes = await Promise.allSettled([store.cancel(2n), store.cancel(4n), store.cancel(6n)]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.match(
    String(outcomes[1]?.status === 'rejected' && outcomes[1].reason),
    /^SqliteFileError: cannot write .+: refused$/,
  );
  assert.deepEqual(await Promise.all([2n, 4n, 6n].map(async (id) => (await store.get(id))?.status)), [
    'cancelled',
    'pending',
    'cancelled',
  ]);
  other.exec('DROP TRIGGER refuse');
  assert.equal(await store.cancel(4n), 'cancelled');
});

test('writes that wait for a lock are committed in the sequence of their calls', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const puts = [1, 2, 3, 4].map(async (quantity) => {
    await delay(20 * quantity);
    return store.put([{ id: 2, quantity }], { replace: true });
  });
  await delay(150);
  other.exec('COMMIT');
  await Promise.all(puts);
  assert.equal((await store.get(2n))?.quantity, 4);
});

test('openSqliteOrderStore rejects a database in memory, because the two connections of the store could not share it', () => {
  for (const file of [':memory:', '']) {
    assert.throws(() => openSqliteOrderStore(file), {
      name: 'TypeError',
      message: /^file: expected the name of a file/,
    });
  }
});

test('openSqliteOrderStore throws immediately if the file contains the tables of another program', () => {
  const file = temporaryFile();
  const database = openSqliteDatabase(file);
  database.exec('CREATE TABLE invoices (id INTEGER)');
  database.close();
  assert.throws(() => openSqliteOrderStore(file), /holds other tables/);
});

function batchesOf(listed: ListedOrders): AsyncIterable<OrderBatch | StreamedText> {
  assert.ok(Symbol.asyncIterator in listed);
  return listed;
}

/** Returns the texts of all batches, joined into one JSON array. */
async function printed(listed: ListedOrders): Promise<string> {
  const texts: string[] = [];
  for await (const batch of batchesOf(listed)) texts.push(await textOf(batch));
  return `[${texts.join(',')}]`;
}

function textOf(batch: OrderBatch | StreamedText): string | Promise<string> {
  if (typeof batch === 'string') return batch;
  return 'version' in batch ? batch.text() : printOrders(batch).slice(1, -1);
}

async function count(listed: ListedOrders): Promise<number> {
  return [...(await printed(listed)).matchAll(/"id":/g)].length;
}

/** Returns the versions of the batches. A batch that was read again has a new version. */
async function versionsOf(listed: ListedOrders): Promise<Set<object>> {
  const versions = new Set<object>();
  for await (const batch of batchesOf(listed)) {
    assert.ok(typeof batch === 'object' && 'version' in batch);
    versions.add(batch.version);
  }
  return versions;
}

const PAGES = MANY / 500;

test('a reader that stops midway delays no other reader', async (t) => {
  const { store } = await openedWithMany(t);
  for await (const _ of batchesOf(await store.list())) {
    await store.put([{ id: 1 }], { replace: true });
    assert.equal(await count(await store.list()), MANY + 1);
    break;
  }
});

test('after very many changes, the whole list is read again, not only its changed batches', async (t) => {
  const { store } = await openedWithMany(t);
  const change = () => store.put(many.slice(0, 1_000), { replace: true });
  const before = await versionsOf(await store.list());
  await change();
  const few = await versionsOf(await store.list());
  assert.equal([...few].filter((version) => before.has(version)).length, PAGES - 2);
  for (let i = 0; i < 6; i++) await change();
  const reread = await versionsOf(await store.list());
  assert.equal([...reread].filter((version) => few.has(version)).length, 0);
});
