import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { createMemoryLimiter } from 'store-orders/limiter';
import { createOrderServer } from 'store-orders/server';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { listenOnFreePort } from '../../support/listen.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { run, startServer } from '../support/program.js';

describe('a server with a PostgreSQL database', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  async function newDatabase() {
    const url = await createDatabase(engine);
    const cwd = temporaryDirectory();
    const program = (...args: readonly string[]) => run(args, { cwd, env: { DATABASE_URL: url } });
    return { url, cwd, program };
  }

  /** Opens the database and creates a server that uses it, as `serve` does. */
  async function serve(t: TestContext, url: string) {
    const open = await openPostgresStorage(url, { create: true, limitsStatementTime: true });
    assert.ok(open.ok);
    const { data } = open;
    const server = createOrderServer({
      store: data.orders,
      limiter: createMemoryLimiter(),
      authenticate: data.keys.authenticate,
      backends: { database: data.state },
    });
    const port = await listenOnFreePort(server);
    t.after(async () => {
      await server.drain(0).catch(() => {});
      await data.close();
    });
    const { key } = await data.keys.create({ name: 'business' });
    const request = (path: string, method = 'GET', apiKey = key) =>
      fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { authorization: `Bearer ${apiKey}` } });
    return { data, key, request };
  }

  test('a running server notices within a second that a command has changed or revoked a key', async (t) => {
    const { url, program } = await newDatabase();
    const { data, request } = await serve(t, url);
    const { key, id } = await data.keys.create({ name: 'free' });
    const list = () => request('/v1/store/orders', 'GET', key);
    assert.equal((await list()).headers.get('x-ratelimit-limit'), '60');
    await program('keys', 'set-plan', id, '--plan', 'pro');
    await until(async () => (await list()).headers.get('x-ratelimit-limit') === '300', 1_000);
    await program('keys', 'revoke', id);
    await until(async () => (await list()).status === 401, 1_000);
  });

  test('while the database is down, responses are 503 with Retry-After, never 401; afterwards, requests succeed', async (t) => {
    const { url } = await newDatabase();
    const { data, request } = await serve(t, url);
    const later = await data.keys.create({ name: 'pro' });
    await data.orders.put([{ id: 1 }, { id: 2 }]);
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
    const { url } = await newDatabase();
    const { request } = await serve(t, url);
    const admin = new pg.Client(url);
    await admin.connect();
    for (const table of ['store_orders', 'store_orders_keys']) {
      assert.equal((await request('/readyz')).status, 200);
      await admin.query(`ALTER TABLE ${table} RENAME TO moved`);
      assert.equal((await request('/readyz')).status, 503);
      await admin.query(`ALTER TABLE moved RENAME TO ${table}`);
    }
    await admin.end();
  });

  test('a server exits at SIGTERM although its database has stopped responding', async (t) => {
    const { url, cwd } = await newDatabase();
    const server = await startServer(t, { cwd, env: { DATABASE_URL: url } }, '--redis-url', 'redis://127.0.0.1:1');
    assert.equal((await fetch(new URL('/readyz', server.url))).status, 200);
    const client = new pg.Client(url);
    await client.connect();
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

  test('each of 60 cancels that wait for locked orders gets its response within 6 s, and nothing else waits', async (t) => {
    const { url } = await newDatabase();
    const { data, request } = await serve(t, url);
    await data.orders.put(Array.from({ length: 100 }, (_, id) => ({ id })));
    const admin = new pg.Pool({ connectionString: url });
    t.after(() => admin.end());
    const lock = 'UPDATE store_orders SET quantity = 1 WHERE id <= 30';
    const cancel = async (id: number) => {
      const startMs = performance.now();
      const { status, headers } = await request(`/v1/store/orders/${id}`, 'DELETE');
      return { status, retryAfter: headers.get('retry-after'), tookMs: performance.now() - startMs };
    };
    // Half of the cancels are for one order, and half are for one order each.
    const cancels = () => Array.from({ length: 60 }, (_, index) => cancel(Math.max(1, index - 29)));
    const other = await admin.connect();

    await other.query(`BEGIN; ${lock}`);
    const refused = Promise.all(cancels());
    for (let id = 31; id < 80; id++) assert.equal((await cancel(id)).status, 204);
    for (const { status, retryAfter, tookMs } of await refused) {
      assert.deepEqual([status, retryAfter !== null, tookMs < 6_000], [503, true, true], `${tookMs} ms`);
    }
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    assert.equal((await admin.query(waiting)).rows.length, 0);
    await other.query('ROLLBACK');
    assert.equal((await data.orders.get(1n))?.status, 'pending');

    await other.query(`BEGIN; ${lock}`);
    const answered = Promise.all(cancels());
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await other.query('COMMIT');
    other.release();
    const statuses = (await answered).map(({ status }) => status);
    assert.deepEqual([statuses.filter((status) => status === 204).length, statuses.length], [30, 60]);
    assert.ok(statuses.every((status) => status === 204 || status === 409));
  });

  test('while four clients read long lists slowly, cancels succeed and a fifth long list gets a 503, until one has ended', async (t) => {
    const { url } = await newDatabase();
    const { data, request } = await serve(t, url);
    await data.orders.put(Array.from({ length: 2_001 }, (_, id) => ({ id })));
    const readers: AsyncIterator<unknown>[] = [];
    try {
      for (let i = 0; i < 4; i++) {
        const list = await data.orders.list();
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
