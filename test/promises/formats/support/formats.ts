import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { OrderRecord } from 'store-orders';
import type { Storage } from '../../../../dist/program/storage/storage.js';

/** The directory with what each version has stored. See `write-formats.ts`. */
export const FORMATS = new URL('../stored/', import.meta.url);

/** The versions that have files there. */
export const VERSIONS = readdirSync(FORMATS).flatMap((name) => (name.endsWith('.db') ? [name.slice(0, -3)] : []));

/** This version. */
export const VERSION = String(createRequire(import.meta.url)('store-orders/package.json').version);

/** The message of a test that finds another format than that of this version's stored file. */
export const ADVICE = `the format differs from that in test/promises/formats/stored. Never change what ${VERSION} stores once it is released: \
add a step to the list of migrations (and a number to RECORD_FORMAT in Redis), and raise the version in package.json. Then write \
the files of the new version: node --import tsx test/promises/formats/support/write-formats.ts`;

/** Returns the keys in the file or in the tables of a version. */
export function keysOf(version: string, storage: 'file' | 'tables') {
  return JSON.parse(readFileSync(new URL(`${version}.json`, FORMATS), 'utf8'))[storage];
}

/** Asserts that a storage of an earlier version has its orders and keys, and that they can be changed. */
export async function assertContents(data: Storage, keys: ReturnType<typeof keysOf>): Promise<void> {
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
  for (const { key } of [keys.revoked, keys.expired]) assert.equal(await data.keys.authenticate(key), undefined);
  const listed = await data.keys.list();
  assert.deepEqual([listed[0]?.id, listed[0]?.name], [keys.agreed.id, 'Ann']);
  assert.equal(await data.keys.revoke(keys.agreed.id), 'changed');
  assert.ok((await data.keys.get(keys.agreed.id))?.revokedAt);
}
