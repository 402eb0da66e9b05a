import assert from 'node:assert/strict';
import { existsSync, renameSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { createMemoryOrderStore, type OrderPages, type OrderStore } from 'store-orders';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { serializeOrders } from '../../../src/orders/json.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
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

test('list returns pages of the same version until the list of orders changes', async (t) => {
  const { store } = await openedWithMany(t);
  const listed = await pagesOf(store);
  assert.equal(typeof listed.version, 'string');
  await store.cancel(0n);
  assert.equal((await pagesOf(store)).version, listed.version);
  for (const round of ['first', 'second']) {
    const expected = many.map(({ id, petId }) => ({ id: BigInt(id), petId: BigInt(petId) }));
    assert.equal(await read(listed), serializeOrders(expected), `the ${round} reading`);
  }
  await store.put([{ id: 1n }]);
  assert.notEqual((await pagesOf(store)).version, listed.version);
});

test('a long list is read from one snapshot, without orders that are put while it is read', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteOrderStore(file);
  t.after(() => other.close());
  let pages = 0;
  const texts: string[] = [];
  for await (const page of await pagesOf(store)) {
    texts.push(String(Buffer.from(page)));
    if (++pages < 10) await other.put([{ id: 40_000 + 2 * pages + 1 }, { id: 4 * MANY + pages }]);
  }
  const ids = [...`${texts}`.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
  assert.deepEqual(
    ids,
    many.map(({ id }) => id),
  );
  assert.equal(await count(await pagesOf(store)), MANY + 18);
});

test('SQLite serialises a long list exactly as serializeOrders does, byte for byte', async (t) => {
  const file = temporaryFile();
  const store = openSqliteOrderStore(file);
  t.after(() => store.close());
  const records = fc.sample(orderRecord, { numRuns: 3_000, seed: 42 });
  await store.put(records, { replace: true });
  const memory = createMemoryOrderStore();
  memory.put(records, { replace: true });
  const expected = memory.list();
  assert.ok(expected.length > 600);
  assert.equal(await read(await pagesOf(store)), serializeOrders(expected));
});

test('reading a long list does not block the event loop, and a reader may stop early', async (t) => {
  const { store } = await openedWithMany(t);
  let turns = 0;
  let pages = 0;
  let isReading = true;
  const takeTurn = () => {
    turns++;
    if (isReading) setImmediate(takeTurn);
  };
  takeTurn();
  for await (const _ of await pagesOf(store)) pages++;
  isReading = false;
  assert.ok(pages > 10 && turns >= pages, `${turns} turns in ${pages} pages`);
  for await (const _ of await pagesOf(store)) break;
});

test('while another connection holds the write lock, cancels wait and lists do not', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const cancelled = store.cancel(2n);
  assert.equal(await count(await pagesOf(store)), MANY);
  assert.equal((await store.get(2n))?.status, 'pending');
  other.exec('COMMIT');
  assert.equal(await cancelled, 'cancelled');
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

async function pagesOf(store: OrderStore): Promise<OrderPages> {
  const listed = await store.list();
  assert.ok(Symbol.asyncIterator in listed);
  return listed;
}

/** Returns all pages as one JSON array. */
async function read(listed: OrderPages): Promise<string> {
  const texts: string[] = [];
  for await (const page of listed) texts.push(String(Buffer.from(page)));
  return `[${texts.join(',')}]`;
}

async function count(listed: OrderPages): Promise<number> {
  return [...(await read(listed)).matchAll(/"id":/g)].length;
}

test('a reader that stops midway delays no other reader', async (t) => {
  const { store } = await openedWithMany(t);
  for await (const _ of await pagesOf(store)) {
    await store.put([{ id: 1 }], { replace: true });
    assert.equal(await count(await pagesOf(store)), MANY + 1);
    break;
  }
});

test('a list that is requested while the file is away leaves the log beside it, and the commits in the log', async (t) => {
  const { file, store } = await openedWithMany(t);
  const pages = await pagesOf(store);
  renameSync(file, `${file}.away`);
  await assert.rejects(read(pages), { kind: 'moved' });
  assert.deepEqual([existsSync(file), existsSync(`${file}-wal`)], [false, true]);
  renameSync(`${file}.away`, file);
  assert.equal(await store.cancel(0n), 'cancelled');
});

test('a list that ends because the file was moved away keeps no snapshot after the file is put back', async (t) => {
  const { file, store } = await openedWithMany(t);
  const reading = (await pagesOf(store))[Symbol.asyncIterator]();
  await reading.next();
  renameSync(file, `${file}.away`);
  await assert.rejects(async () => reading.next(), { kind: 'moved' });
  // The thread is told to end the reading while the file is away.
  await delay(50);
  renameSync(`${file}.away`, file);
  await store.put([{ id: 1n }]);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  const checkpoint = other.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  await until(() => Object(checkpoint.get())['busy'] === 0, 2_000);
});

test('put rejects with a TypeError for invalid orders, although a worker stores them', async (t) => {
  const { store } = await openedWithMany(t);
  await assert.rejects(store.put([{ id: 1.5 }]), { name: 'TypeError', message: 'order 1.5: id must be an integer' });
  await assert.rejects(store.put([{ id: 1 }], Object({ replace: 1 })), TypeError);
});
