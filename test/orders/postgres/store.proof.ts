import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import postgres from 'postgres';
import type { OrderInput } from 'store-orders';
import {
  createMappedOrderStore,
  createPostgresOrderStore,
  type PostgresPool,
  type PostgresStatement,
} from 'store-orders/postgres';
import { importRecords } from '../../../dist/orders/postgres/import.js';
import { readRecords } from '../../../dist/orders/postgres/list.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';
import { EDGE_IDS } from '../support/order-arbitrary.js';
import { listed } from '../support/store-suite.js';
import { beginTransaction, isWaiting } from './support/transaction.js';

const IMPORTED = { line: 1, record: { id: 5n, status: 'pending' } };

describe('the order store over its own table in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine('wal_writer_delay=10000');

  async function stored(...orders: readonly OrderInput[]) {
    const pool = engine.pool();
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    await store.put(orders);
    return { pool, store };
  }

  test('the table is created once, even if a second connection looked for it before the first created it', async () => {
    const pool = engine.pool({ max: 2 });
    const [first, second] = [await pool.connect(), await pool.connect()];
    const [migrateFirst, migrateSecond] = [first, second].map((client) => {
      // Only `query` is passed on, because the `connect` of a client differs from that of a pool.
      return createPostgresOrderStore({ query: (statement) => client.query(statement) }).migrate;
    });
    await first.query('BEGIN');
    await migrateFirst?.();
    await second.query("SELECT to_regclass('store_orders_versions')");
    const migrated = migrateSecond?.();
    await until(() => isWaiting(engine.pool()));
    await first.query('COMMIT');
    await migrated?.finally(() => [first, second].map((client) => client.release()));
  });

  test('migrate waits for the migration of another session no longer than lock_timeout, and names the cause', async () => {
    const pool = engine.pool();
    const first = await pool.connect();
    await first.query('BEGIN');
    await createPostgresOrderStore({ query: (statement) => first.query(statement) }).migrate();
    const second = createPostgresOrderStore(engine.pool({ options: `${pool.options.options} -c lock_timeout=50` }));
    const refused = assert.rejects(second.migrate(), /another session keeps a lock that the migration needs/);
    await refused.finally(() => first.query('COMMIT').finally(() => first.release()));
    await second.migrate();
  });

  test('if the table exists, the store needs only the rights to its orders, not to change their version or revision', async () => {
    const { pool } = await stored({ id: 1 });
    await pool.query('CREATE ROLE clerk LOGIN');
    const { rows } = await pool.query('SELECT current_schema() AS schema');
    await pool.query(`GRANT USAGE ON SCHEMA ${rows[0].schema} TO clerk;
      GRANT SELECT ON store_orders_versions TO clerk; GRANT SELECT, INSERT, UPDATE ON store_orders TO clerk`);
    const options = `${pool.options.options} -c role=clerk`;
    const clerk = createPostgresOrderStore(engine.pool({ options }));
    await clerk.migrate();
    assert.equal(await clerk.cancel(1n), 'cancelled');
    assert.deepEqual(await clerk.put([{ id: 2 }]), { outcome: 'stored', count: 1 });
    assert.deepEqual(await listed(clerk), [{ id: 1n }, { id: 2n }]);
  });

  test('migrate refuses a table store_orders that another program or a newer version created', async () => {
    const pool = engine.pool();
    const store = createPostgresOrderStore(pool);
    await pool.query('CREATE TABLE store_orders (id text)');
    await assert.rejects(store.migrate(), /"store_orders" already exists/);
    await pool.query('DROP TABLE store_orders');
    await store.migrate();
    await pool.query('UPDATE store_orders_versions SET version = 99');
    await assert.rejects(
      store.migrate(),
      /the orders schema has version 99, but this program knows only versions up to \d+; use a newer store-orders/,
    );
  });

  test('each call of the order store sends exactly one statement, and a list of a tenth of a second ago none', async (t) => {
    const { pool, store } = await stored({ id: 1 }, { id: 2 }, { id: 3, status: 'shipped' });
    const query = t.mock.method(pool, 'query');
    t.mock.method(performance, 'now', () => 0);
    await store.cancel(1n);
    await store.cancel(1n);
    await store.cancel(3n);
    await store.cancel(4n);
    await store.ship(2n);
    await store.list();
    await store.list();
    await store.get(1n);
    await store.put([{ id: 3 }, { id: 5 }], { replace: true });
    assert.equal(query.mock.callCount(), 8);
    // A put that finds an order with the same id asks which one it is.
    await store.put([{ id: 6 }, { id: 5 }]);
    assert.equal(query.mock.callCount(), 10);
  });

  // Columns: what another transaction does to the pending order 1 while a cancel waits for it, how
  // that transaction ends, the outcome of the cancel, and the status of the order afterwards.
  const WHILE_WAITING = [
    ["UPDATE store_orders SET status = 'shipped'", 'COMMIT', 'already_shipped', 'shipped'],
    ["UPDATE store_orders SET status = 'shipped'", 'ROLLBACK', 'cancelled', 'cancelled'],
    ["UPDATE store_orders SET status = 'on_hold'", 'COMMIT', 'not_pending', 'on_hold'],
    ['UPDATE store_orders SET quantity = 7', 'COMMIT', 'cancelled', 'cancelled'],
    ['DELETE FROM store_orders', 'COMMIT', 'not_found', undefined],
  ] as const;

  for (const [change, end, outcome, status] of WHILE_WAITING) {
    test(`a cancel that waits for another transaction (${change}, ${end}) returns ${outcome}`, async (t) => {
      const { pool, store } = await stored({ id: 1 });
      const endTransaction = await beginTransaction(pool, change);
      const query = t.mock.method(pool, 'query');
      const cancelled = store.cancel(1n);
      await until(() => query.mock.callCount() > 2);
      await endTransaction(end);
      assert.equal(await cancelled, outcome);
      assert.equal((await store.get(1n))?.status, status);
    });
  }

  test('if another transaction stores an order first, put reports the id of that order and stores nothing', async () => {
    const { pool, store } = await stored();
    const end = await beginTransaction(pool, "INSERT INTO store_orders (id, status) VALUES (5, 'shipped')");
    const put = store.put([{ id: 1 }, { id: 5 }]);
    await until(() => isWaiting(pool));
    await end();
    assert.deepEqual(await put, { outcome: 'exists', id: 5n });
    assert.deepEqual(await listed(store), [{ id: 5n }]);
  });

  test('acknowledged writes are on disk even if the role sets synchronous_commit=off', async () => {
    const { pool } = await stored({ id: 1 }, { id: 3 });
    // The checkpoint writes all earlier changes to disk.
    await pool.query('CHECKPOINT');
    const hasty = engine.pool({ options: `${pool.options.options} -c synchronous_commit=off` });
    const store = createPostgresOrderStore(hasty);
    // Each write is tested alone, because a commit that waits for the disk also writes earlier
    // commits to disk.
    const writes = [
      () => store.cancel(1n),
      () => store.put([{ id: 4 }]),
      () => store.put([{ id: 3, quantity: 3 }], { replace: true }),
      () => importRecords((taken) => void hasty.connect(taken), Readable.from([[IMPORTED]]), false),
    ];
    for (const write of writes) {
      await write();
      assert.deepEqual((await hasty.query('SHOW synchronous_commit')).rows, [{ synchronous_commit: 'off' }]);
      await engine.crash();
      await engine.start();
    }
    assert.equal((await store.get(1n))?.status, 'cancelled');
    assert.deepEqual(await listed(store), [{ id: 1n }, { id: 3n, quantity: 3 }, { id: 4n }, { id: 5n }]);
  });

  test('an import, an export and a migration take longer than the time limits of the role', async () => {
    const { pool } = await stored({ id: 1 });
    const later = () => pool.query('SELECT pg_sleep(1.5)');
    await pool.query(`CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(1.5); RETURN NULL; END';
      CREATE TRIGGER take_time AFTER INSERT ON store_orders EXECUTE FUNCTION take_time()`);
    const limits = '-c statement_timeout=1000 -c idle_in_transaction_session_timeout=1000';
    const limited = engine.pool({ options: `${pool.options.options} ${limits}` });
    const connect: NonNullable<PostgresPool['connect']> = (taken) => void limited.connect(taken);
    await assert.rejects(limited.query('SELECT pg_sleep(3)'), /statement timeout/);
    async function* pausing() {
      yield [IMPORTED];
      await later();
      yield [{ line: 2, record: { id: 6n, status: 'pending' } }];
    }
    assert.deepEqual(await importRecords(connect, pausing(), false), { outcome: 'stored', count: 2 });
    await pool.query("INSERT INTO store_orders SELECT i, 0, 0, NULL, NULL, 'x' FROM generate_series(10, 4000) AS i");
    let count = 0;
    for await (const records of readRecords(connect)) {
      count += records.length;
      await later();
    }
    assert.equal(count, 3_994);
    const end = await beginTransaction(pool, 'LOCK TABLE store_orders_versions');
    const migrated = createPostgresOrderStore(limited).migrate();
    await Promise.all([migrated, later().then(() => end())]);
  });

  test('the order store works with any PostgreSQL driver that can be called through a single query function', async () => {
    const { pool } = await stored(...EDGE_IDS.map((id) => ({ id, petId: id, shipDate: '2026-02-03T04:05:06Z' })));
    const connection = { options: pool.options.options ?? '' };
    // Some hosts rename all columns of results.
    const sql = postgres({ ...engine.connection, database: 'postgres', connection, transform: postgres.camel });
    const query = async ({ text, values }: PostgresStatement) => ({ rows: await sql.unsafe(text, values) });
    const store = createPostgresOrderStore({ query });
    await store.migrate();
    for (const id of EDGE_IDS) assert.equal(await store.cancel(id), 'cancelled');
    assert.equal(await store.ship(0n), 'already_cancelled');
    assert.deepEqual(await store.put([{ id: 5 }, { id: 0 }]), { outcome: 'exists', id: 0n });
    assert.equal((await listed(store)).length, EDGE_IDS.length);
    await pool.query('CREATE TABLE mapped (id bigint, status text); INSERT INTO mapped VALUES (NULL)');
    const columns = { id: 'id', status: 'status' };
    await assert.rejects(async () => createMappedOrderStore({ query }, { table: 'mapped', columns }).list(), /NULL/);
    await sql.end();
  });
});
