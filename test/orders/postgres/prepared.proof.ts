import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { missingEngine, startEngine } from '../../support/postgres-server.js';

describe('prepared statements in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  /** Opens a store over one connection. */
  async function open() {
    const pool = engine.pool({ max: 1 });
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    const prepared = async () => {
      const { rows } = await pool.query(
        'SELECT name, generic_plans::int AS generic, (generic_plans + custom_plans)::int AS calls FROM pg_prepared_statements',
      );
      return rows;
    };
    return { pool, store, prepared };
  }

  test('frequent statements are prepared once per connection', async () => {
    const { store, prepared } = await open();
    await store.put(Array.from({ length: 10 }, (_, id) => ({ id })));
    assert.equal((await prepared()).length, 0);
    for (let id = 0n; id < 10n; id++) {
      assert.equal(await store.cancel(id), 'cancelled');
      assert.equal(await store.cancel(id), 'already_cancelled');
      assert.equal((await store.get(id))?.status, 'cancelled');
    }
    assert.equal((await prepared()).length, 2);
    for (let i = 0; i < 3; i++) assert.equal(Array.from(Object(await store.list())).length, 10);
    assert.equal((await prepared()).length, 3);
  });

  test('once a list is long, it is not read by the statement that was prepared while it was short', async () => {
    const { store, prepared } = await open();
    for (let i = 0; i < 3; i++) await store.list();
    await store.put(Array.from({ length: 2_000 }, (_, id) => ({ id })));
    await store.list();
    const before = await prepared();
    for (let i = 0; i < 3; i++) assert.ok(Symbol.asyncIterator in (await store.list()));
    assert.deepEqual(await prepared(), before);
  });

  test('a statement planned while the table is empty still finds orders by the index when the table has grown', async () => {
    const { pool, store, prepared } = await open();
    await pool.query('ALTER TABLE store_orders SET (autovacuum_enabled = false)');
    for (let id = 0n; id < 20n; id++) assert.equal(await store.cancel(id), 'not_found');
    await store.put(Array.from({ length: 20_000 }, (_, id) => ({ id })));
    for (let id = 0n; id < 20n; id++) assert.equal(await store.cancel(id), 'cancelled');
    const [cancel, ...others] = await prepared();
    assert.ok(others.length === 0 && cancel.generic >= 30, 'planned once');
    const { rows } = await pool.query(`EXPLAIN EXECUTE ${cancel.name} ('1')`);
    assert.doesNotMatch(JSON.stringify(rows), /Seq Scan/);
  });
});
