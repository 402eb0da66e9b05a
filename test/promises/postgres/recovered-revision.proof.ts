import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { beginTransaction } from '../../orders/postgres/support/transaction.js';
import { listed } from '../../orders/support/store-suite.js';
import { dumpDatabase, missingEngine, startEngine } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';
import { openStore } from './support/revised-store.js';

describe('the revision of the orders in PostgreSQL, when they come back by another way', {
  skip: missingEngine,
}, async () => {
  const engine = await startEngine('wal_level=logical');

  test('is restored from a dump, with its trigger', async (t) => {
    const { pool, store, schema, later, versionOf } = await openStore(t, engine);
    const dump = await dumpDatabase(engine.url, '--schema', schema);
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await engine.pool({ options: '' }).query(dump);
    later();
    assert.equal((await listed(store)).length, 2);
    const restored = await versionOf();
    await pool.query("INSERT INTO store_orders (id, status) VALUES (3, 'pending')");
    later();
    assert.notEqual(await versionOf(), restored);
  });

  test('is missing after the restore of a dump of the tables alone: every change is listed, and migrate restores it', async (t) => {
    const warn = t.mock.method(process, 'emitWarning', () => {});
    const { pool, store, schema, later, versionOf } = await openStore(t, engine);
    const tables = (await dumpDatabase(engine.url, '--table', `${schema}.store_orders*`)).split(/;\n/);
    await pool.query(`DROP SCHEMA ${schema} CASCADE; CREATE SCHEMA ${schema}`);
    const target = engine.pool({ options: '', max: 1 });
    // As psql does without ON_ERROR_STOP.
    for (const statement of tables) await target.query(statement).catch(() => {});
    for (const id of [3, 4]) {
      await pool.query(`INSERT INTO store_orders (id, status) VALUES (${id}, 'pending')`);
      later();
      assert.equal((await listed(store)).length, id);
    }
    assert.equal(warn.mock.callCount(), 1);
    await store.migrate();
    later();
    const restored = await versionOf();
    later();
    assert.equal(await versionOf(), restored);
    await pool.query("INSERT INTO store_orders (id, status) VALUES (5, 'pending')");
    later();
    assert.notEqual(await versionOf(), restored);
  });

  test('is not restored by a role without the rights, nor so that writes would fail', async (t) => {
    const warn = t.mock.method(process, 'emitWarning', () => {});
    const { pool, store, schema } = await openStore(t, engine);
    await pool.query(`CREATE ROLE keeper LOGIN; GRANT USAGE, CREATE ON SCHEMA ${schema} TO keeper;
      GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO keeper;
      DROP FUNCTION store_orders_changed CASCADE`);
    const keeper = createPostgresOrderStore(engine.pool({ schema, user: 'keeper', database: 'postgres' }));
    await keeper.migrate();
    await pool.query('ALTER TABLE store_orders OWNER TO keeper');
    await keeper.migrate();
    assert.deepEqual(
      warn.mock.calls.map(({ arguments: [text] }) => /could not be restored: (.+)\.$/.exec(String(text))?.[1]),
      [
        'permission denied for table store_orders',
        'the owner of the function store_orders_changed must be the owner of the sequence store_orders_revision',
      ],
    );
    assert.equal((await store.put([{ id: 3 }])).outcome, 'stored');
  });

  test('differs after the restore of a dump that lacks a change which was in flight', async (t) => {
    const { pool, store, schema, later, versionOf } = await openStore(t, engine);
    const end = await beginTransaction(pool, "INSERT INTO store_orders (id, status) VALUES (3, 'x')");
    const dump = await dumpDatabase(engine.url, '--schema', schema);
    await end();
    const before = await versionOf();
    assert.equal((await listed(store)).length, 3);
    await engine.pool({ options: '' }).query(`BEGIN; DROP SCHEMA ${schema} CASCADE; ${dump}; COMMIT`);
    later();
    assert.equal((await listed(store)).length, 2);
    assert.notEqual(await versionOf(), before);
  });

  test('differs after a crash that has lost a commit, but not its number', async () => {
    const fragile = await startEngine();
    const pool = fragile.pool();
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    const { rows } = await pool.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");
    // While it is stopped, only a commit that waits for the disk writes to it.
    process.kill(rows[0].pid, 'SIGSTOP');
    const insert = "INSERT INTO store_orders (id, status) VALUES (1, 'x')";
    const end = await beginTransaction(pool, `SET LOCAL synchronous_commit = off; ${insert}`);
    await pool.query('CREATE TABLE written_with_all_before_it ()');
    await end();
    const { version } = await store.list();
    assert.equal((await listed(store)).length, 1);
    process.kill(rows[0].pid, 'SIGKILL');
    await until(async () => (await listed(store).catch(() => undefined))?.length === 0, 60_000);
    assert.notEqual((await store.list()).version, version);
  });

  test('is missing on a standby, whose list shows all after its promotion', async (t) => {
    const { pool, schema, later, store } = await openStore(t, engine);
    const standby = await engine.startStandby();
    t.after(standby.stop);
    const replica = createPostgresOrderStore(standby.pool({ schema, onConnect: async () => {} }));
    await replica.migrate();
    // The transaction is in flight, which the standby does not see, when its number arrives there.
    const end = await beginTransaction(pool, "INSERT INTO store_orders (id, status) VALUES (3, 'x')");
    await store.put([{ id: 4 }]);
    const kept = new Map<unknown, number>();
    const countAfterEach = async () => {
      later();
      const pages = await replica.list();
      const count = kept.get(pages.version) ?? (await listed(replica)).length;
      kept.set(pages.version, count);
      return count;
    };
    await until(async () => (await countAfterEach()) === 3);
    await end();
    await until(async () => (await countAfterEach()) === 4);
    await standby.promote();
    await replica.put([{ id: 5 }]);
    assert.equal(await countAfterEach(), 5);
    const { version } = await replica.list();
    later();
    assert.equal((await replica.list()).version, version);
  });

  test('of a subscriber of logical replication changes by the trigger that README.md names', async (t) => {
    const admin = engine.pool({ options: '' });
    for (const database of ['publisher', 'subscriber']) await admin.query(`CREATE DATABASE ${database}`);
    const publisher = engine.pool({ options: '', database: 'publisher' });
    const subscriber = engine.pool({ options: '', database: 'subscriber' });
    const [source, target] = [createPostgresOrderStore(publisher), createPostgresOrderStore(subscriber)];
    await Promise.all([source.migrate(), target.migrate()]);
    await publisher.query('CREATE PUBLICATION orders FOR TABLE store_orders');
    await publisher.query("SELECT pg_create_logical_replication_slot('orders', 'pgoutput')");
    const connection = `host=${engine.connection.host} user=postgres dbname=publisher`;
    await subscriber.query(`CREATE SUBSCRIPTION orders CONNECTION '${connection}' PUBLICATION orders
      WITH (create_slot = false, copy_data = false)`);
    t.after(() => subscriber.query('ALTER SUBSCRIPTION orders DISABLE'));
    await subscriber.query(`CREATE TRIGGER replicated AFTER INSERT OR DELETE OR UPDATE ON store_orders
      FOR EACH ROW EXECUTE FUNCTION store_orders_changed()`);
    await subscriber.query('ALTER TABLE store_orders ENABLE ALWAYS TRIGGER replicated');
    const { version } = await target.list();
    await source.put([{ id: 1 }]);
    await until(async () => (await listed(target)).length === 1);
    await until(async () => (await target.list()).version !== version);
  });
});
