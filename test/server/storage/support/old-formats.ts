import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { OrderRecord } from 'store-orders';
import type { Storage } from '../../../../dist/server/storage/storage.js';

// A built checkout of each version wrote its files in `formats`. On a file, and on an empty database
// of PostgreSQL, its commands `orders import`, `orders cancel`, `keys create` and `keys revoke`
// stored what `assertOldContents` expects. On the file, `serve` also saved four requests of the
// first key, and then `ban set` banned the second one for 365 days. `pg_dump --inserts --no-owner`
// wrote the tables. The JSON file has the keys that the commands printed.
export const VERSIONS = ['0.1.0'];
export const FORMATS = new URL('../formats/', import.meta.url);

/** Returns the keys in the file or in the tables of a version. */
export function keysOf(version: string, storage: 'file' | 'tables') {
  return JSON.parse(readFileSync(new URL(`${version}.json`, FORMATS), 'utf8'))[storage];
}

/** Asserts that a storage of an earlier version has its orders and keys, and that they can be changed. */
export async function assertOldContents(data: Storage, keys: ReturnType<typeof keysOf>): Promise<void> {
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
  const listed = await data.keys.list();
  assert.deepEqual([listed[0]?.id, listed[0]?.name], [keys.agreed.id, 'Ann']);
  assert.equal(await data.keys.revoke(keys.agreed.id), 'changed');
  assert.ok((await data.keys.get(keys.agreed.id))?.revokedAt);
}
