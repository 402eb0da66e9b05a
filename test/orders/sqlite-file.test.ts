import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ListedOrders, Order } from 'store-orders';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryFile } from './temporary-file.js';

const MANY = 25_000;
const many = Array.from({ length: MANY }, (_, index) => ({ id: 2 * index, petId: index % 90 }));

async function openedWithMany(t: TestContext) {
  const file = temporaryFile();
  const store = openSqliteOrderStore(file);
  t.after(() => store.close());
  await store.put(many);
  return { file, store };
}

test('a long list is a frozen iterable of batches, the same until what is listed changes', async (t) => {
  const { store } = await openedWithMany(t);
  const listed = store.list();
  assert.ok(Symbol.asyncIterator in listed && Object.isFrozen(listed));
  await store.cancel(0n);
  assert.equal(store.list(), listed);
  for (const round of ['first', 'second']) {
    assert.deepEqual(
      await all(listed),
      many.map(({ id, petId }) => ({ id: BigInt(id), petId: BigInt(petId) })),
      `the ${round} reading`,
    );
  }
  await store.put([{ id: 1n }]);
  assert.notEqual(store.list(), listed);
});

test('a long list is read from one snapshot: an order put meanwhile is not in it, wherever it belongs', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteOrderStore(file);
  t.after(() => other.close());
  const ids: bigint[] = [];
  for await (const batch of batchesOf(store.list())) {
    ids.push(...batch.map(({ id }) => id));
    if (ids.length < 10_000) await other.put([{ id: 2 * ids.length + 1 }, { id: 4 * MANY + ids.length }]);
  }
  assert.equal(ids.length, MANY);
  assert.ok((await all(store.list())).length > MANY);
});

test('reading a long list gives the event loop its turns, and hanging up closes the handle', async (t) => {
  const { store } = await openedWithMany(t);
  const turns = setInterval(() => taken++, 0);
  let taken = 0;
  let batches = 0;
  for await (const _ of batchesOf(store.list())) batches++;
  clearInterval(turns);
  assert.ok(batches > 10 && taken >= batches / 2, `${taken} turns in ${batches} batches`);
  for await (const _ of batchesOf(store.list())) break;
});

test('while another process holds the lock, cancels wait and lists do not', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const cancelled = store.cancel(2n);
  assert.equal((await all(store.list())).length, MANY);
  assert.equal(store.get(2n)?.status, 'pending');
  other.exec('COMMIT');
  assert.equal(await cancelled, 'cancelled');
});

test('a write that the file refuses is rejected, its neighbours are committed, and the thread goes on', async (t) => {
  const { file, store } = await openedWithMany(t);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  other.exec("CREATE TRIGGER refuse BEFORE UPDATE ON orders WHEN OLD.id = 4 BEGIN SELECT RAISE(ABORT, 'refused'); END");
  const outcomes = await Promise.allSettled([store.cancel(2n), store.cancel(4n), store.cancel(6n)]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.match(String(outcomes[1]?.status === 'rejected' && outcomes[1].reason), /^Error: refused$/);
  assert.deepEqual(
    [2n, 4n, 6n].map((id) => store.get(id)?.status),
    ['cancelled', 'pending', 'cancelled'],
  );
  other.exec('DROP TRIGGER refuse');
  assert.equal(await store.cancel(4n), 'cancelled');
});

test('what could not be written before a lock is written before what came meanwhile', async (t) => {
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
  assert.equal(store.get(2n)?.quantity, 4);
});

test('a database in memory is refused: no two handles could share it', () => {
  for (const file of [':memory:', '']) {
    assert.throws(() => openSqliteOrderStore(file), {
      name: 'TypeError',
      message: /^file: expected the name of a file/,
    });
  }
});

test('a file that cannot be this store is refused at once, and its handle is closed', () => {
  const file = temporaryFile();
  const database = openSqliteDatabase(file);
  database.exec('CREATE TABLE invoices (id INTEGER)');
  database.close();
  assert.throws(() => openSqliteOrderStore(file), /holds other tables/);
});

function batchesOf(listed: ListedOrders): AsyncIterable<readonly Order[]> {
  assert.ok(Symbol.asyncIterator in listed);
  return listed;
}

async function all(listed: ListedOrders): Promise<Order[]> {
  const orders: Order[] = [];
  for await (const batch of batchesOf(listed)) {
    orders.push(...batch.map(({ id, petId }) => ({ id, ...(petId !== undefined && { petId }) })));
  }
  return orders;
}
