import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type pg from 'pg';
import { createMappedOrderStore, createPostgresOrderStore } from 'store-orders/postgres';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { idsTo } from '../support/ids.js';
import { listed } from '../support/store-suite.js';
import { beginTransaction, isWaiting } from './support/transaction.js';

const UNCHANGED =
  /^Error: order 13: its status did not change; does a trigger or a policy of its table prevent that\?$/;

describe('the statements of the order store in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  async function open(count: number, options?: pg.PoolConfig) {
    const pool = engine.pool(options);
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    await store.put(idsTo(count).map((id) => ({ id })));
    return { pool, store };
  }

  test('simultaneous cancels are sent as one statement, and each gets its own outcome', async (t) => {
    const { pool, store } = await open(10);
    await store.put([
      { id: 20, status: 'shipped' },
      { id: 21, status: 'cancelled' },
      { id: 22, status: 'on_hold' },
    ]);
    const query = t.mock.method(pool, 'query');
    const ids = [3n, 7n, 20n, 99n, 7n, 21n, 2n ** 63n - 1n, 22n];
    assert.deepEqual(await Promise.all(ids.map((id) => store.cancel(id))), [
      'cancelled',
      'cancelled',
      'already_shipped',
      'not_found',
      'already_cancelled',
      'already_cancelled',
      'not_found',
      'not_pending',
    ]);
    assert.equal(query.mock.callCount(), 1);
    const shipped = await Promise.all([1n, 3n, 1n].map((id) => store.ship(id)));
    assert.deepEqual(shipped, ['shipped', 'already_cancelled', 'already_shipped']);
    assert.equal(query.mock.callCount(), 2);
  });

  test('cancels of locked orders wait without a connection, however many are locked, and no other call waits', async () => {
    const { pool, store } = await open(100, { max: 6 });
    const end = await beginTransaction(pool, "UPDATE store_orders SET status = 'shipped' WHERE id < 50");
    const outcomes: string[] = [];
    const cancel = async (id: bigint) => outcomes.push(await store.cancel(id));
    const locked = idsTo(50).map(cancel);
    await Promise.all(idsTo(70).slice(50).map(cancel));
    assert.deepEqual(outcomes, Array(20).fill('cancelled'));
    assert.equal((await store.get(70n))?.status, 'pending');
    assert.ok(!(await isWaiting(engine.pool())));
    assert.equal(outcomes.length, 20);
    await end();
    await Promise.all(locked);
    assert.deepEqual(outcomes.slice(20), Array(50).fill('already_shipped'));
  });

  for (const [what, body, message] of [
    ['raises an error for a row', "RAISE 'not this one'", /not this one/],
    ['leaves a row unchanged', 'RETURN NULL', UNCHANGED],
  ] as const) {
    test(`if a trigger on the table ${what}, only the cancel of that row fails`, async () => {
      const { pool } = await open(0);
      await pool.query(`CREATE TABLE parcels (no int PRIMARY KEY, state text NOT NULL);
        INSERT INTO parcels SELECT i, 'new' FROM generate_series(0, 63) AS i;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.no = 13 THEN ${body}; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON parcels FOR EACH ROW EXECUTE FUNCTION refuse()`);
      const columns = { id: 'no', status: 'state' };
      const store = createMappedOrderStore(pool, { table: 'parcels', columns, statuses: { pending: 'new' } });
      const outcomes = await Promise.allSettled([...idsTo(64), 1n].map((id) => store.cancel(id)));
      const [failed, ...others] = outcomes.splice(13, 1);
      assert.deepEqual(others, []);
      assert.ok(failed?.status === 'rejected' && message.test(String(failed.reason)), JSON.stringify(failed));
      assert.deepEqual(outcomes.pop(), { status: 'fulfilled', value: 'already_cancelled' });
      for (const outcome of outcomes) assert.deepEqual(outcome, { status: 'fulfilled', value: 'cancelled' });
      const { rows } = await pool.query("SELECT no FROM parcels WHERE state <> 'cancelled'");
      assert.deepEqual(rows, [{ no: 13 }]);
    });
  }

  test('if a trigger that runs for one order waits for another transaction, only the cancel of that order waits', async () => {
    const { pool, store } = await open(30);
    await pool.query(`CREATE TABLE stock (pet int PRIMARY KEY, left_over int); INSERT INTO stock VALUES (7, 0), (8, 0);
      CREATE FUNCTION put_back() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN UPDATE stock SET left_over = left_over + 1 WHERE pet = CASE NEW.id WHEN 13 THEN 7 ELSE 8 END; RETURN NEW; END $$;
      CREATE TRIGGER put_back BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION put_back()`);
    const end = await beginTransaction(pool, 'UPDATE stock SET left_over = 0 WHERE pet = 7');
    const slow = store.cancel(13n);
    const others = await Promise.all(idsTo(30).map((id) => (id === 13n ? 'cancelled' : store.cancel(id))));
    assert.deepEqual(new Set(others), new Set(['cancelled']));
    await end();
    assert.equal(await slow, 'cancelled');
    const { rows } = await pool.query('SELECT left_over FROM stock ORDER BY pet');
    assert.deepEqual(rows, [{ left_over: 1 }, { left_over: 29 }]);
  });

  /** Returns the prepared statements of a pool with one connection. */
  async function preparedBy(pool: pg.Pool) {
    const counts = 'generic_plans::int AS generic, (generic_plans + custom_plans)::int AS calls';
    const { rows } = await pool.query(`SELECT name, ${counts} FROM pg_prepared_statements`);
    for (const { name } of rows) assert.match(name, /^store_orders_[0-9a-f]{32}$/);
    return rows;
  }

  test('frequent statements are prepared once per connection', async () => {
    const { pool, store } = await open(10, { max: 1 });
    assert.equal((await preparedBy(pool)).length, 0);
    for (const id of idsTo(10)) {
      assert.equal(await store.cancel(id), 'cancelled');
      assert.equal(await store.cancel(id), 'already_cancelled');
      assert.equal((await store.get(id))?.status, 'cancelled');
    }
    assert.equal((await preparedBy(pool)).length, 2);
    // The question for the revision is prepared. The pages, which are read only after a change, are not.
    for (let i = 0; i < 3; i++) {
      await store.put([{ id: i }], { replace: true });
      assert.equal((await listed(store)).length, 10);
    }
    assert.equal((await preparedBy(pool)).length, 3);
  });

  test('a statement planned while the table is empty still finds orders by the index when the table has grown', async () => {
    const { pool, store } = await open(0, { max: 1 });
    await pool.query('ALTER TABLE store_orders SET (autovacuum_enabled = false)');
    for (const id of idsTo(20)) assert.equal(await store.cancel(id), 'not_found');
    await store.put(idsTo(20_000).map((id) => ({ id })));
    for (const id of idsTo(20)) assert.equal(await store.cancel(id), 'cancelled');
    const [cancel, ...others] = await preparedBy(pool);
    assert.ok(others.length === 0 && cancel.generic >= 30, 'planned once');
    const { rows } = await pool.query(`EXPLAIN EXECUTE ${cancel.name} ('1')`);
    assert.doesNotMatch(JSON.stringify(rows), /Seq Scan/);
  });
});
