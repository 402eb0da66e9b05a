import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { test } from 'node:test';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { openSqliteStorage } from '../../../dist/server/storage/sqlite.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { assertOldContents, FORMATS, keysOf, VERSIONS } from './support/old-formats.js';

for (const version of VERSIONS) {
  test(`a file of version ${version} opens with its orders, keys and saved quotas`, async (t) => {
    const keys = keysOf(version, 'file');
    const file = temporaryFile();
    copyFileSync(new URL(`${version}.db`, FORMATS), file);
    const opened = openSqliteStorage(file);
    assert.ok(opened.ok);
    const { storage } = opened;
    t.after(storage.close);
    await assertOldContents(storage, keys);
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
    assert.deepEqual(await storage.quotas.pending(), [{ seq: 1n, keyId: keys.banned.id, request: `ban ${banEndMs}` }]);
  });

  test(`after a file of version ${version} was opened, it has the tables of a new file`, async () => {
    const [old, fresh] = [temporaryFile(), temporaryFile()];
    copyFileSync(new URL(`${version}.db`, FORMATS), old);
    const tables = (file: string) => {
      const database = openSqliteDatabase(file);
      const rows = database.prepare("SELECT sql FROM sqlite_schema WHERE sql LIKE '%orders%' ORDER BY sql").all();
      const versions = database.prepare("SELECT version FROM store_orders_schema WHERE part = 'orders'").all();
      database.close();
      return { rows, versions };
    };
    for (const file of [old, fresh]) await openSqliteOrderStore(file).close();
    assert.deepEqual(tables(old), tables(fresh));
  });
}
