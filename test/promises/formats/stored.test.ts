import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { test } from 'node:test';
import { createMemoryLimiter } from 'store-orders';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { withSavedQuotas } from '../../../dist/program/quotas/saved-quotas.js';
import { openServerSqliteStorage, openSqliteStorage } from '../../../dist/program/storage/sqlite.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { ADVICE, assertContents, FORMATS, keysOf, VERSION, VERSIONS } from './support/formats.js';

/** Copies the file of a version, and migrates the copy as a server does. */
async function upgraded(version: string): Promise<string> {
  const file = temporaryFile();
  copyFileSync(new URL(`${version}.db`, FORMATS), file);
  const opened = openServerSqliteStorage(file);
  assert.ok(opened.ok);
  await opened.storage.close();
  return file;
}

/** Returns the version of each part, and the SQL of each table. */
function tablesOf(file: string) {
  const database = openSqliteDatabase(file);
  const all = (sql: string) => JSON.parse(JSON.stringify(database.prepare(sql).all()));
  const versions = all('SELECT * FROM store_orders_versions ORDER BY part');
  const tables = all('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name');
  database.close();
  return { versions, tables };
}

test('a new file has the tables of the file of this version', async () => {
  const file = temporaryFile();
  const opened = openSqliteStorage(file, { create: true });
  assert.ok(opened.ok);
  await opened.storage.close();
  assert.ok(VERSIONS.includes(VERSION), ADVICE);
  const kept = temporaryFile();
  copyFileSync(new URL(`${VERSION}.db`, FORMATS), kept);
  assert.deepEqual(tablesOf(file), tablesOf(kept), ADVICE);
  for (const version of VERSIONS) assert.deepEqual(tablesOf(await upgraded(version)), tablesOf(file), ADVICE);
});

for (const version of VERSIONS) {
  test(`a file of version ${version} opens with its orders, keys and saved quotas`, async (t) => {
    const keys = keysOf(version, 'file');
    const opened = openSqliteStorage(await upgraded(version));
    assert.ok(opened.ok);
    const { storage } = opened;
    t.after(storage.close);
    await assertContents(storage, keys);
    const saved = async (keyId: string) => JSON.parse((await storage.quotas.load(keyId))[0]?.[1] ?? '');
    const { buckets } = await saved(keys.agreed.id);
    assert.deepEqual(
      buckets.map(({ name, taken }: Record<string, unknown>) => [name, taken]),
      [
        ['minute', 4],
        ['day', 4],
      ],
    );
    const { banEndMs } = (await saved(keys.banned.id)).ban;
    const [pending, ...others] = await storage.quotas.pending();
    assert.deepEqual([pending?.seq, pending?.keyId, pending?.action], [2n, keys.banned.id, 'ban']);
    assert.ok(Math.abs(Number(pending?.untilMs) - banEndMs) < 60_000);
    assert.deepEqual(others, []);
  });
}

test('a saved state is the text that this version has saved', async (t) => {
  const opened = openSqliteStorage(await upgraded(VERSION));
  assert.ok(opened.ok);
  const { quotas, close } = opened.storage;
  t.after(close);
  const before = await quotas.load();
  assert.equal(before.length, 2);
  // At the beginning of time, everything in the states still counts.
  const clock = { nowMs: () => 0, utcOffsetMs: () => 0 };
  const limiter = createMemoryLimiter({ clock });
  await withSavedQuotas(limiter, clock, { ...quotas, pending: async () => [] });
  for (const [keyId, state] of before) assert.deepEqual(limiter.inspect(keyId), JSON.parse(state), ADVICE);
});
