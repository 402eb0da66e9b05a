import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import pg from 'pg';
import type { OrderRecord } from 'store-orders';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';

describe('PostgreSQL tables of earlier versions', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  // The dumps in `formats` were written by earlier versions: see support/old-tables-process.ts.
  for (const version of ['0.1.0']) {
    test(`tables of version ${version} open with their orders and keys`, async (t) => {
      const dump = readFileSync(new URL(`formats/${version}.sql`, import.meta.url), 'utf8');
      const keys = JSON.parse(dump.slice('-- '.length, dump.indexOf('\n')));
      const url = await createDatabase(engine);
      const client = new pg.Client(url);
      await client.connect();
      await client.query(dump);
      await client.end();
      const opened = await openPostgresStorage(url);
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
      assert.equal(await data.keys.revoke(keys.agreed.id), 'changed');
      assert.equal(await data.keys.authenticate(keys.agreed.key), undefined);
    });
  }
});
