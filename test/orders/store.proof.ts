import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryOrderStore } from 'store-orders';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { createSqliteOrderStore, openSqliteOrderStore } from 'store-orders/sqlite';
import { missingEngine, startEngine } from '../support/postgres-server.js';
import { missingDrivers, sqliteDrivers } from './sqlite/support/drivers.js';
import { testOrderStore } from './support/store-suite.js';

testOrderStore('the order store in memory', () => createMemoryOrderStore());

for (const driver of sqliteDrivers) {
  testOrderStore(`the order store in SQLite under ${driver.name}`, (file) => {
    const database = driver.open(file);
    return { ...createSqliteOrderStore(database), close: () => void database.close() };
  });
}

testOrderStore('the order store in a SQLite file, with a thread that writes', openSqliteOrderStore);

for (const { name, remedy } of missingDrivers) {
  test(`the order store in SQLite under ${name}`, { skip: remedy }, () => {});
}

if (missingEngine) test('the order store in PostgreSQL', { skip: missingEngine });
else {
  const engine = await startEngine();
  testOrderStore('the order store in PostgreSQL', async () => {
    const store = createPostgresOrderStore(engine.pool());
    await store.migrate();
    return store;
  });
}

test('the order store in memory is synchronous, without promises', () => {
  const store = createMemoryOrderStore([{ id: 2n }, { id: 1n }]);
  assert.deepEqual(store.list(), [{ id: 1n }, { id: 2n }]);
  assert.equal(store.cancel(1n), 'cancelled');
  assert.equal(store.ship(2n), 'shipped');
  assert.deepEqual(store.put([{ id: 3n }]), { outcome: 'stored', count: 1 });
  assert.deepEqual(store.get(1n), { id: 1n, status: 'cancelled' });
  assert.equal(store.close(), undefined);
});
