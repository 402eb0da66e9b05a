import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { OrderRecord } from 'store-orders';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { openSqliteStorage } from '../../../dist/server/storage/sqlite.js';
import { temporaryFile } from '../../support/temporary-file.js';

// The files in `formats` were written by earlier versions: see support/old-file-process.ts.
const FORMATS = new URL('formats/', import.meta.url);

for (const version of ['0.1.0']) {
  const { keys } = JSON.parse(readFileSync(new URL(`${version}.json`, FORMATS), 'utf8'));

  test(`a file of version ${version} opens with its orders, keys and saved quotas`, async (t) => {
    const file = temporaryFile();
    copyFileSync(new URL(`${version}.db`, FORMATS), file);
    const opened = openSqliteStorage(file);
    assert.ok(opened.ok);
    const { data } = opened;
    t.after(data.close);

    const records: OrderRecord[] = [];
    for await (const batch of data.records()) records.push(...batch);
    assert.deepEqual(records, [
      { id: -1n, complete: false, status: 'shipped' },
      { id: 0n, status: 'on_hold' },
      { id: 7n, status: 'cancelled' },
      {
        id: 2n ** 63n - 1n,
        petId: -(2n ** 63n),
        quantity: 3,
        shipDate: '2026-07-16T00:00:00Z',
        complete: true,
        status: 'pending',
      },
    ]);
    assert.equal(await data.orders.cancel(2n ** 63n - 1n), 'cancelled');

    const agreed = await data.keys.authenticate(keys.agreed.key);
    assert.equal(agreed?.id, keys.agreed.id);
    assert.deepEqual(
      agreed?.plan.policies.map(({ quota }) => quota),
      [5, 9],
    );
    assert.equal(await data.keys.authenticate(keys.revoked.key), undefined);
    assert.deepEqual(
      (await data.keys.list()).map(({ id, name, revokedAt }) => [id, name, revokedAt !== undefined]),
      [
        [keys.agreed.id, 'Ann', false],
        [keys.banned.id, undefined, false],
        [keys.revoked.id, undefined, true],
      ],
    );

    assert.deepEqual(
      data.quotas.load(keys.agreed.id)[0]?.[1].buckets.map(({ name, taken }) => [name, taken]),
      [
        ['minute', 4],
        ['day', 4],
      ],
    );
    const { banEndMs = 0 } = data.quotas.load(keys.banned.id)[0]?.[1].ban ?? {};
    assert.deepEqual(await data.quotas.pending(), [{ seq: 1n, keyId: keys.banned.id, request: `ban ${banEndMs}` }]);
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
