import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import pg from 'pg';
import { createApiKey } from '../../../dist/server/keys/api-key.js';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';

describe('errors of the order store and the key ring, when PostgreSQL fails', { skip: missingEngine }, async () => {
  const engine = await startEngine();
  const url = await createDatabase(engine);
  const open = await openPostgresStorage(url.replace('postgres@', 'postgres:hidden-word@'), { create: true });
  assert.ok(open.ok);
  const { orders, keys, close } = open.data;
  const admin = new pg.Client(url);
  await admin.connect();
  admin.on('error', () => {});
  after(async () => {
    await admin.end().catch(() => {});
    await close();
  });

  /**
   * Asserts that `work` rejects with a reason that matches `fails`, and that the error does not
   * show the password.
   */
  async function tells(work: () => unknown, fails: RegExp): Promise<void> {
    await assert.rejects(
      async () => work(),
      (error) => {
        assert.ok(error instanceof Error);
        assert.match(error.message, fails);
        assert.doesNotMatch(`${error.stack}${JSON.stringify(error)}`, /hidden-word/);
        return true;
      },
    );
  }

  test('if a table is missing, the error names the table', async () => {
    await admin.query('ALTER TABLE store_orders RENAME TO moved; ALTER TABLE store_orders_keys RENAME TO moved_keys');
    const missing = (table: string) => new RegExp(`^a table is missing; .+ \\(relation "${table}" does not exist\\)$`);
    await tells(() => orders.cancel(7n), missing('store_orders'));
    await tells(() => orders.list(), missing('store_orders'));
    await tells(() => orders.put([{ id: 1 }]), missing('store_orders'));
    const key = createApiKey();
    await tells(() => keys.authenticate(key), missing('store_orders_keys'));
    await tells(() => keys.rotate('key_a'), missing('store_orders_keys'));
    await tells(() => keys.revoke('key_a'), missing('store_orders_keys'));
    await admin.query('ALTER TABLE moved RENAME TO store_orders; ALTER TABLE moved_keys RENAME TO store_orders_keys');
  });

  test('if the connection is lost while a long list is read, the error names the reason', async () => {
    await orders.put(Array.from({ length: 4_001 }, (_, id) => ({ id })));
    const listed = await orders.list();
    assert.ok(Symbol.asyncIterator in listed);
    const reader = listed[Symbol.asyncIterator]();
    await reader.next();
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'store-orders'");
    await tells(() => reader.next(), /^terminating connection|^the connection was lost \(/);
  });

  test('if PostgreSQL is down, the error names the reason', async () => {
    await engine.crash();
    await tells(() => orders.cancel(1n), /^.+ \(.+\)$/);
    await tells(
      () => orders.cancel(1n),
      /^(no PostgreSQL server accepts connections|there is no such file or socket).* \(connect E\w+ .+\)$/,
    );
    await tells(() => keys.list(), /^.+ \(.+\)$/);
    await engine.start();
  });
});
