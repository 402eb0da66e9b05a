import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { createMemoryLimiter } from 'store-orders/limiter';
import { createOrderServer } from 'store-orders/server';
import { openServerStorage } from '../../../dist/program/storage/open.js';
import { openPostgresStorage } from '../../../dist/program/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { ADVICE, assertContents, FORMATS, keysOf, VERSION, VERSIONS } from '../../promises/formats/support/formats.js';
import { listenOnFreePort } from '../../support/listen.js';
import { dumpDatabase, missingEngine, startEngine } from '../../support/postgres-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { writeNextVersion } from '../support/next-version.js';
import { programIn, startServer } from '../support/program.js';

describe('the program over PostgreSQL', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  /** Creates a server over a new database, as `serve` does. */
  async function serve(t: TestContext) {
    const url = await createDatabase(engine);
    const open = await openServerStorage({ db: '', databaseUrl: url });
    assert.ok(open.ok);
    const { storage } = open;
    const server = createOrderServer({
      store: storage.orders,
      limiter: createMemoryLimiter(),
      authenticate: storage.keys.authenticate,
      backends: { database: storage.state },
    });
    const port = await listenOnFreePort(server);
    t.after(async () => {
      await server.drain(0).catch(() => {});
      await storage.close();
    });
    const { key } = await storage.keys.create({ name: 'business' });
    const request = (path: string, method = 'GET', apiKey = key) =>
      fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { authorization: `Bearer ${apiKey}` } });
    return { url, storage, request };
  }

  /** Opens a connection of another program. */
  async function connect(url: string): Promise<pg.Client> {
    const client = new pg.Client(url);
    await client.connect();
    return client;
  }

  for (const version of VERSIONS) {
    test(`tables of version ${version} open with their orders and keys`, async (t) => {
      const url = await createDatabase(engine);
      const client = await connect(url);
      const dump = readFileSync(new URL(`${version}.sql`, FORMATS), 'utf8');
      await client.query(dump);
      await client.end();
      const opened = await openPostgresStorage(url, { isServer: true });
      assert.ok(opened.ok);
      t.after(opened.storage.close);
      await assertContents(opened.storage, keysOf(version, 'tables'));
      const fresh = await createDatabase(engine);
      const created = await openPostgresStorage(fresh, { isServer: true });
      assert.ok(created.ok);
      await created.storage.close();
      const [tables, upgraded] = await Promise.all([fresh, url].map((each) => dumpDatabase(each, '--schema-only')));
      assert.equal(tables, upgraded, ADVICE);
      const versions = (dump: string) => dump.match(/INSERT INTO public\.store_orders_versions .+/g);
      if (version === VERSION) assert.deepEqual(versions(await dumpDatabase(fresh)), versions(dump), ADVICE);
    });
  }

  test('no command of a next version migrates the tables; its server does, and the old server goes on', async (t) => {
    const env = { DATABASE_URL: await createDatabase(engine), REDIS_URL: 'redis://127.0.0.1:1' };
    const options = { cwd: temporaryDirectory(), env, main: writeNextVersion() };
    const [old, next] = [programIn({ env }), programIn(options)];
    const { key } = Object(await old.json('keys create --plan free'));
    await old.output('orders import -', '{"id":7}\n{"id":8}');
    const server = await startServer(t, { cwd: old.cwd, env });
    for (const command of ['orders show 7', 'keys list', 'orders import -']) {
      assert.match(
        await next.failure(command, '{"id":9}'),
        /: the orders schema has version \d+, but this program needs version \d+; start its server, which migrates the tables$/,
      );
    }
    const upgraded = await startServer(t, options);
    for (const [{ url }, id] of [
      [server, 7],
      [upgraded, 8],
    ] as const) {
      const headers = { authorization: `Bearer ${key}` };
      const { status } = await fetch(`${url}/store/orders/${id}`, { method: 'DELETE', headers });
      assert.equal(status, 204);
    }
    const newer =
      /: the orders schema has version \d+, but this program knows only versions up to \d+; use a newer store-orders$/;
    for (const command of ['serve --port 0', 'orders show 7']) assert.match(await old.failure(command), newer);
  });

  test('while the database is down, responses are 503 with Retry-After, never 401; afterwards, requests succeed', async (t) => {
    const { storage, request } = await serve(t);
    const later = await storage.keys.create({ name: 'pro' });
    await storage.orders.put([{ id: 1 }, { id: 2 }]);
    assert.equal((await request('/v1/store/orders/1', 'DELETE')).status, 204);
    assert.equal((await request('/readyz')).status, 200);
    await engine.crash();
    for (const apiKey of [undefined, later.key]) {
      for (const [path, method] of [
        ['/v1/store/orders', 'GET'],
        ['/v1/store/orders/2', 'DELETE'],
      ] as const) {
        const response = await request(path, method, apiKey);
        assert.deepEqual([response.status, response.headers.get('retry-after') !== null], [503, true]);
      }
    }
    const ready = await request('/readyz');
    const { backends } = JSON.parse(await ready.text());
    assert.deepEqual([ready.status, backends.database], [503, 'unavailable']);
    await engine.start();
    await until(async () => (await request('/v1/store/orders/2', 'DELETE')).status === 204);
    assert.equal((await request('/v1/store/orders', 'GET', later.key)).status, 200);
    assert.equal((await request('/readyz')).status, 200);
  });

  test('a server whose tables are gone is not ready', async (t) => {
    const { url, request } = await serve(t);
    const admin = await connect(url);
    // Probes within a tenth of a second share an answer.
    const isAnswered = (status: number) => until(async () => (await request('/readyz')).status === status);
    for (const table of ['store_orders', 'store_orders_keys']) {
      await isAnswered(200);
      await admin.query(`ALTER TABLE ${table} RENAME TO moved`);
      await isAnswered(503);
      await admin.query(`ALTER TABLE moved RENAME TO ${table}`);
    }
    await admin.end();
  });

  test('a burst of probes without a key takes few transactions, also over the limit of its address', async (t) => {
    const { url, request } = await serve(t);
    const admin = await connect(engine.url);
    t.after(() => admin.end());
    const database = /\/(\w+)\?/.exec(url)?.[1];
    const count = async (sql: string) => Number((await admin.query(sql, [database])).rows[0].count);
    /** A server process counts its transactions in the statistics when it ends, if not before. */
    async function transactions(): Promise<number> {
      const processes = 'FROM pg_stat_activity WHERE datname = $1';
      await admin.query(`SELECT pg_terminate_backend(pid) ${processes}`, [database]);
      await until(async () => (await count(`SELECT count(*) ${processes}`)) === 0);
      return count('SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = $1');
    }
    const PROBES = 1_000; // More than an address may send without a key in a minute.
    const before = await transactions();
    await until(async () => (await request('/readyz')).status === 200);
    const startMs = performance.now();
    const statuses: number[] = [];
    while (statuses.length < PROBES) statuses.push((await request('/readyz', 'GET', '')).status);
    const tenths = Math.ceil((performance.now() - startMs) / 100);
    const taken = (await transactions()) - before;
    t.diagnostic(`${taken} transactions for ${PROBES} probes in ${tenths} tenths of a second`);
    assert.deepEqual(statuses, Array(PROBES).fill(200));
    assert.ok(taken <= 2 * tenths + 10, `${taken} transactions in ${tenths} tenths of a second`);
  });

  test('a server whose database is read-only is not ready, until the standby is promoted', async (t) => {
    const url = await createDatabase(engine);
    const open = async (databaseUrl: string) => {
      const opened = await openServerStorage({ db: '', databaseUrl });
      assert.ok(opened.ok);
      t.after(opened.storage.close);
      return opened.storage;
    };
    const primary = await open(url);
    await primary.orders.put([{ id: 1 }]);
    assert.equal(await primary.state(), 'ok');
    const standby = await engine.startStandby();
    t.after(standby.stop);
    const hostOf = ({ connection }: typeof engine) => encodeURIComponent(connection.host);
    const { state, orders } = await open(url.replace(hostOf(engine), hostOf(standby)));
    await assert.rejects(async () => state(), /the database is read-only/);
    await standby.promote();
    assert.equal(await state(), 'ok');
    assert.equal(await orders.cancel(1n), 'cancelled');
  });

  test('once the database can be written again, no connection that was read-only is used', async (t) => {
    const { url, storage } = await serve(t);
    const { orders, state } = storage;
    await orders.put([{ id: 1 }]);
    const admin = await connect(engine.url);
    t.after(() => admin.end());
    const database = /\/(\w+)\?/.exec(url)?.[1];
    const cancel = async () => orders.cancel(1n);
    for (const [ask, refusal, answer] of [
      [async () => state(), /the database is read-only/, 'ok'],
      [cancel, /in a read-only transaction/, 'cancelled'],
    ] as const) {
      // Applies to new connections, as if their address led to a standby until the setting is removed.
      await admin.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [database]);
      await until(() =>
        ask().then(
          () => false,
          ({ message }) => refusal.test(message),
        ),
      );
      await admin.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
      assert.equal(await ask(), answer);
    }
  });

  test('a server whose role sees no row of a table, because row-level security has no policy, is not ready', async (t) => {
    const { url, storage } = await serve(t);
    const admin = await connect(url);
    await admin.query(`CREATE ROLE app LOGIN; GRANT SELECT, UPDATE, INSERT ON ALL TABLES IN SCHEMA public TO app;
      ALTER TABLE store_orders_keys ENABLE ROW LEVEL SECURITY`);
    const opened = await openPostgresStorage(url.replace('postgres@', 'app@'));
    assert.ok(opened.ok);
    const { state, close } = opened.storage;
    await assert.rejects(async () => state(), {
      message: 'row-level security hides store_orders_keys; create a policy for this role',
    });
    assert.equal(await storage.state(), 'ok');
    await admin.query('CREATE POLICY all_keys ON store_orders_keys TO app USING (true)');
    assert.equal(await state(), 'ok');
    await close();
    await admin.end();
  });

  test('a server exits at SIGTERM although its database has stopped responding', async (t) => {
    const url = await createDatabase(engine);
    const server = await startServer(t, { env: { DATABASE_URL: url } }, '--redis-url', 'redis://127.0.0.1:1');
    const advice = 'has no API keys. Create one: store-orders keys create --plan free\n';
    assert.equal(server.stderr(), `${server.log().at(-1)?.['db']} ${advice}`);
    assert.equal((await fetch(new URL('/readyz', server.url))).status, 200);
    const client = await connect(url);
    const select = "SELECT pid FROM pg_stat_activity WHERE application_name = 'store-orders'";
    // The connections of the start may still be ending.
    await until(async () => (await client.query(select)).rows.length === 1);
    const { rows } = await client.query(select);
    for (const { pid } of rows) process.kill(pid, 'SIGSTOP');
    try {
      const late = new Promise((resolve) => setTimeout(resolve, 30_000, 'still running').unref());
      assert.equal(await Promise.race([server.stop('SIGTERM'), late]), 0);
    } finally {
      for (const { pid } of rows) process.kill(pid, 'SIGCONT');
      await client.end();
    }
  });
});
