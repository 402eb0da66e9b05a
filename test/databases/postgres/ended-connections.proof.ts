import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import pg from 'pg';
import { createPostgresOrderStore } from 'store-orders/postgres';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import type { Storage } from '../../../dist/server/storage/storage.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { createDatabase } from './support/database.js';
import { startProxy } from './support/proxy.js';

/** With this many orders, a list is read on a connection of its own. */
const MANY = 2_001;

describe('connections that PostgreSQL ends in its first packet', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  async function open(t: TestContext) {
    const url = await createDatabase(engine);
    const proxy = await startProxy(t, join(engine.connection.host, '.s.PGSQL.5432'));
    const { pathname } = new URL(url.replace('@/', '@host/'));
    return { proxy, url: `postgres://${engine.connection.user}@127.0.0.1:${proxy.port}${pathname}` };
  }

  const CALLS: Readonly<Record<string, (data: Storage) => Promise<unknown>>> = {
    'an export': ({ records }) => read(records()),
    'an import': ({ importRecords }) => importRecords(batches(), true),
  };
  for (const [name, call] of Object.entries(CALLS)) {
    test(`${name} of the program fails, and the next one succeeds`, async (t) => {
      const { proxy, url } = await open(t);
      const opened = await openPostgresStorage(url, { create: true });
      assert.ok(opened.ok);
      t.after(opened.data.close);
      proxy.endsAtOnce = true;
      await assert.rejects(call(opened.data), /terminat|not queryable/);
      proxy.endsAtOnce = false;
      await call(opened.data);
    });
  }

  test('a list over a pool of the host fails, and the next one succeeds', async (t) => {
    const { proxy, url } = await open(t);
    const pool = new pg.Pool({ connectionString: url });
    pool.on('error', () => {});
    t.after(() => pool.end());
    const store = createPostgresOrderStore(pool);
    await store.migrate();
    await store.put(Array.from({ length: MANY }, (_, id) => ({ id })));
    const listed = await store.list();
    proxy.endsAtOnce = true;
    // One connection is idle. The list takes it if it is free, so the test takes it first.
    const idle = await pool.connect();
    await assert.rejects(read(listed), /terminat|not queryable/);
    idle.release();
    proxy.endsAtOnce = false;
    await read(await store.list());
  });
});

async function* batches() {
  yield [{ record: { id: 7n, status: 'pending' }, line: 1 }];
}

async function read(list: object): Promise<void> {
  assert.ok(Symbol.asyncIterator in list);
  for await (const _ of Object(list));
}
