import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { createMemoryLimiter } from 'store-orders/limiter';
import { createOrderServer } from 'store-orders/server';
import { openServerStorage } from '../../../dist/server/storage/open.js';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { listenOnFreePort } from '../../support/listen.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { startServer } from '../support/program.js';
import { assertOldContents, FORMATS, keysOf, VERSIONS } from './support/old-formats.js';

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
      await client.query(readFileSync(new URL(`${version}.sql`, FORMATS), 'utf8'));
      await client.end();
      const opened = await openPostgresStorage(url);
      assert.ok(opened.ok);
      t.after(opened.storage.close);
      await assertOldContents(opened.storage, keysOf(version, 'tables'));
    });
  }

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
    for (const table of ['store_orders', 'store_orders_keys']) {
      assert.equal((await request('/readyz')).status, 200);
      await admin.query(`ALTER TABLE ${table} RENAME TO moved`);
      assert.equal((await request('/readyz')).status, 503);
      await admin.query(`ALTER TABLE moved RENAME TO ${table}`);
    }
    await admin.end();
  });

  test('a server exits at SIGTERM although its database has stopped responding', async (t) => {
    const url = await createDatabase(engine);
    const options = { cwd: temporaryDirectory(), env: { DATABASE_URL: url } };
    const server = await startServer(t, options, '--redis-url', 'redis://127.0.0.1:1');
    const advice = 'has no API keys. Create one: store-orders keys create --plan free\n';
    assert.equal(server.stderr(), `${server.log().at(-1)?.['db']} ${advice}`);
    assert.equal((await fetch(new URL('/readyz', server.url))).status, 200);
    const client = await connect(url);
    const { rows } = await client.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'store-orders'");
    assert.equal(rows.length, 2, 'the check of the orders and the check of the keys each have a connection');
    for (const { pid } of rows) process.kill(pid, 'SIGSTOP');
    try {
      const late = new Promise((resolve) => setTimeout(resolve, 4_000, 'still running').unref());
      assert.equal(await Promise.race([server.stop('SIGTERM'), late]), 0);
    } finally {
      for (const { pid } of rows) process.kill(pid, 'SIGCONT');
      await client.end();
    }
  });

  test('each of 60 cancels that wait for a locked order gets a 503 with Retry-After within 6 s, and cancels nothing', async (t) => {
    const { url, storage, request } = await serve(t);
    await storage.orders.put(Array.from({ length: 60 }, (_, id) => ({ id })));
    const other = await connect(url);
    await other.query('BEGIN; UPDATE store_orders SET quantity = 1');
    const startMs = performance.now();
    const refused = await Promise.all(
      Array.from({ length: 60 }, (_, id) => request(`/v1/store/orders/${id}`, 'DELETE')),
    );
    assert.ok(performance.now() - startMs < 6_000);
    for (const { status, headers } of refused) {
      assert.deepEqual([status, headers.get('retry-after') !== null], [503, true]);
    }
    await other.query('ROLLBACK');
    await other.end();
    assert.equal((await storage.orders.get(1n))?.status, 'pending');
  });

  test('while four clients read long lists slowly, cancels succeed and a fifth long list gets a 503, until one has ended', async (t) => {
    const { storage, request } = await serve(t);
    await storage.orders.put(Array.from({ length: 2_001 }, (_, id) => ({ id })));
    const readers: AsyncIterator<unknown>[] = [];
    try {
      for (let i = 0; i < 4; i++) {
        const list = await storage.orders.list();
        assert.ok(Symbol.asyncIterator in list);
        const reader = list[Symbol.asyncIterator]();
        readers.push(reader);
        await reader.next();
      }
      const fifth = request('/v1/store/orders');
      assert.equal((await request('/v1/store/orders/1', 'DELETE')).status, 204);
      const { status, headers } = await fifth;
      assert.deepEqual([status, headers.get('retry-after') !== null], [503, true]);
      const sixth = request('/v1/store/orders');
      await readers[0]?.return?.();
      assert.equal(JSON.parse(await (await sixth).text()).length, 2_001);
      for (const reader of readers.slice(1)) assert.equal((await reader.next()).done, false);
    } finally {
      await Promise.all(readers.map((reader) => reader.return?.()));
    }
    assert.equal((await request('/v1/store/orders')).status, 200);
  });
});
