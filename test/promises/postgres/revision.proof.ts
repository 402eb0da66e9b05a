import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type pg from 'pg';
import { createMappedOrderStore, createPostgresOrderStore } from 'store-orders/postgres';
import { CREATE_REVISION, REVISION } from '../../../examples/postgres-revision.js';
import { beginTransaction, isWaiting } from '../../orders/postgres/support/transaction.js';
import { listed, textOf } from '../../orders/support/store-suite.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { openStore } from './support/revised-store.js';

const WRITERS = 8;
const ORDERS_EACH = 40;

describe('the revision of the orders in PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  const open = (t: TestContext, options?: pg.PoolConfig) => openStore(t, engine, options);

  test('changes when one of two transactions that have changed the list ends', async (t) => {
    const { pool, later, versionOf } = await open(t);
    const ends = [
      await beginTransaction(pool, 'DELETE FROM store_orders WHERE id = 1'),
      await beginTransaction(pool, 'DELETE FROM store_orders WHERE id = 2'),
    ];
    const versions = [await versionOf()];
    for (const end of ends) {
      await end();
      later();
      versions.push(await versionOf());
    }
    assert.equal(new Set(versions).size, 3);
  });

  test('stays the same while one transaction makes many changes', async (t) => {
    const { pool, later, versionOf } = await open(t);
    const client = await pool.connect();
    await client.query("BEGIN; INSERT INTO store_orders (id, status) VALUES (10, 'x')");
    const during = await versionOf();
    for (let id = 11; id < 15; id++) {
      await client.query(`SAVEPOINT a; INSERT INTO store_orders (id, status) VALUES (${id}, 'x'); RELEASE a`);
      later();
      assert.equal(await versionOf(), during);
    }
    await client.query('COMMIT');
    client.release();
    later();
    assert.notEqual(await versionOf(), during);
  });

  test('of two schemas that a transaction changes, both are other ones', async (t) => {
    const { store, pool, schema, later, versionOf } = await open(t);
    const second = createPostgresOrderStore(engine.pool({ schema: 'second' }));
    await second.migrate();
    await second.put([{ id: 1 }]);
    const before = [await versionOf(store), await versionOf(second)];
    await pool.query(`BEGIN; DELETE FROM ${schema}.store_orders; DELETE FROM second.store_orders; COMMIT`);
    later();
    assert.notEqual(await versionOf(store), before[0]);
    assert.notEqual(await versionOf(second), before[1]);
  });

  for (const level of ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']) {
    test(`lets no writer wait for another or fail (${level})`, async (t) => {
      const { pool, store } = await open(t, { max: WRITERS + 2 });
      const ends: (() => Promise<void>)[] = [];
      const begin = `SET TRANSACTION ISOLATION LEVEL ${level}; SET LOCAL lock_timeout = 1`;
      for (let id = 100; id < 100 + WRITERS; id++) {
        const insert = `INSERT INTO store_orders (id, status) VALUES (${id}, 'pending')`;
        ends.push(await beginTransaction(pool, `${begin}; ${insert}`));
      }
      assert.equal(await store.cancel(1n), 'cancelled');
      assert.equal((await store.put([{ id: 3 }])).outcome, 'stored');
      assert.ok(!(await isWaiting(pool)));
      for (const end of ends.reverse()) await end();
      assert.equal((await listed(store)).length, 3 + WRITERS);
    });
  }

  const PURCHASES = `CREATE TABLE purchases (
    number bigint PRIMARY KEY, animal bigint, units integer, leaves_on date, state text);`;
  const purchases = (pool: pg.Pool) =>
    createMappedOrderStore(pool, {
      table: 'purchases',
      columns: { id: 'number', petId: 'animal', quantity: 'units', shipDate: 'leaves_on', status: 'state' },
      revision: REVISION,
    });

  for (const [what, create, storeOf, insert] of [
    ['of the own table', 'SELECT', createPostgresOrderStore, 'INSERT INTO store_orders (id, status)'],
    [
      'of examples/postgres-revision.ts',
      PURCHASES + CREATE_REVISION,
      purchases,
      'INSERT INTO purchases (number, state)',
    ],
  ] as const) {
    test(`${what} never stays behind: a list that is kept for its version shows all that was committed before it was requested`, async (t) => {
      const { pool, later } = await open(t, { max: WRITERS + 2 });
      await pool.query(create);
      const store = storeOf(pool);
      const before = (await listed(store)).length;
      let committed = before;
      let writing = WRITERS;
      async function write(writer: number): Promise<void> {
        for (let n = 0; n < ORDERS_EACH; n++) {
          await pool.query(`${insert} VALUES (${100 + writer * ORDERS_EACH + n}, 'x')`);
          committed++;
        }
        writing--;
      }
      const writes = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
      const kept = new Map<unknown, number>();
      while (writing > 0) {
        const least = committed;
        later();
        const pages = await store.list();
        assert.ok(Symbol.asyncIterator in pages);
        const count = kept.get(pages.version) ?? JSON.parse(await textOf(pages)).length;
        kept.set(pages.version, count);
        assert.ok(count >= least, `${count} orders are listed, ${least} were committed`);
      }
      await writes;
      later();
      assert.equal((await listed(store)).length, before + WRITERS * ORDERS_EACH);
    });
  }

  test('of examples/postgres-revision.ts changes with each listed column, not with a status, and is missing without its trigger', async (t) => {
    const { pool, later } = await open(t);
    await pool.query(`${PURCHASES} INSERT INTO purchases VALUES (1, 1, 1, '2030-01-01', 'pending')`);
    await pool.query(CREATE_REVISION);
    await pool.query(CREATE_REVISION);
    const store = purchases(pool);
    async function changesAfter(statement: string): Promise<boolean> {
      const { version } = await store.list();
      await pool.query(`BEGIN; SET LOCAL session_replication_role = replica; ${statement}; COMMIT`);
      later();
      return (await store.list()).version !== version;
    }
    for (const column of ['number', 'animal', 'units', 'leaves_on']) {
      assert.ok(await changesAfter(`UPDATE purchases SET ${column} = ${column}`), column);
    }
    assert.ok(!(await changesAfter("UPDATE purchases SET state = 'sent'")));
    assert.ok(!(await changesAfter('SELECT 1')));
    assert.ok(await changesAfter('TRUNCATE purchases'));
    const end = await beginTransaction(pool, 'INSERT INTO purchases VALUES (2)');
    assert.ok(await changesAfter('SELECT 1'));
    await end();
    assert.ok(await changesAfter('SELECT 1'));
    assert.ok(await changesAfter('ALTER TABLE purchases ENABLE REPLICA TRIGGER purchases_changed'));
    assert.ok(await changesAfter('SELECT 1'));
  });

  test('changes with each run of a script that seeds the random numbers', async (t) => {
    const { pool, store, later, versionOf } = await open(t);
    const versions: unknown[] = [];
    for (const id of [3, 4, 5]) {
      const insert = `DELETE FROM store_orders; INSERT INTO store_orders (id, status) VALUES (${id}, 'x')`;
      await pool.query(`SELECT setseed(0.5); BEGIN; ${insert}; COMMIT`);
      later();
      versions.push(await versionOf());
      assert.deepEqual(await listed(store), [{ id: BigInt(id) }]);
    }
    assert.equal(new Set(versions).size, 3);
  });

  test('of a mapped table is the value of its own query: the table is read once for each', async (t) => {
    const { pool, later } = await open(t);
    await pool.query(`CREATE TABLE parcels (no bigint PRIMARY KEY, state text);
      CREATE TABLE parcels_revision (changes bigint); INSERT INTO parcels_revision VALUES (1);
      INSERT INTO parcels SELECT i, 'pending' FROM generate_series(1, 5000) AS i`);
    const columns = { id: 'no', status: 'state' };
    const revision = 'SELECT changes FROM parcels_revision';
    const store = createMappedOrderStore(pool, { table: 'parcels', columns, revision });
    const { version } = await store.list();
    assert.match(String(version), / 1$/);
    assert.equal((await listed(store)).length, 5_000);
    await pool.query('INSERT INTO parcels VALUES (5001); UPDATE parcels_revision SET changes = changes + 1');
    assert.equal((await store.list()).version, version);
    later();
    assert.match(String((await store.list()).version), / 2$/);
    assert.equal((await listed(store)).length, 5_001);
  });

  test('of a mapped table that is missing counts as changed, so the table is read again', async (t) => {
    const { pool, later } = await open(t);
    await pool.query(`CREATE TABLE parcels (no bigint, state text); CREATE TABLE parcels_revision (changes bigint)`);
    const columns = { id: 'no', status: 'state' };
    const revision = 'SELECT changes FROM parcels_revision';
    const store = createMappedOrderStore(pool, { table: 'parcels', columns, revision });
    const versions = [];
    for (const text of ['SELECT 1', 'SELECT 1', 'INSERT INTO parcels_revision VALUES (NULL)', 'SELECT 1']) {
      await pool.query(text);
      later();
      versions.push((await store.list()).version);
    }
    assert.equal(new Set(versions).size, 4);
  });
});
