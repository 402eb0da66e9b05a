import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type pg from 'pg';
import { createPostgresOrderStore, type PostgresStatement } from 'store-orders/postgres';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';
import { idsTo } from '../support/ids.js';
import { listed } from '../support/store-suite.js';
import { beginTransaction, isWaiting } from './support/transaction.js';

describe('the statements of the order store in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  async function open(count: number, options?: pg.PoolConfig) {
    const pool = engine.pool(options);
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    await store.put(idsTo(count).map((id) => ({ id })));
    return { pool, store };
  }

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

  for (const [whose, closes] of [
    ['of the pool closes a connection for each rejected statement', true],
    ['of the host that releases its connection closes none', false],
  ] as const) {
    test(`if a trigger rejects one in 17 of 128 cancels, a query ${whose}`, async () => {
      const { pool } = await open(128);
      await pool.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.id % 17 = 0 THEN RAISE 'not this one'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON store_orders FOR EACH ROW EXECUTE FUNCTION refuse()`);
      let rejected = 0;
      let closed = 0;
      pool.on('remove', () => closed++);
      const hostQuery = async (statement: PostgresStatement) => {
        const client = await pool.connect();
        return client.query(statement).finally(() => client.release());
      };
      const send = closes ? (statement: PostgresStatement) => pool.query(statement) : hostQuery;
      const store = createPostgresOrderStore({
        query: (statement) =>
          send(statement).catch((error) => {
            rejected++;
            throw error;
          }),
      });
      const outcomes = await Promise.allSettled(idsTo(128).map(store.cancel));
      assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 8);
      assert.ok(rejected > 8, `${rejected} statements were rejected`);
      await until(() => closed >= (closes ? rejected : 0));
      assert.equal(closed, closes ? rejected : 0);
    });
  }

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
