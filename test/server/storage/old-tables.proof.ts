import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import pg from 'pg';
import { openPostgresStorage } from '../../../dist/server/storage/postgres.js';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { assertOldContents, FORMATS, keysOf, VERSIONS } from './support/old-formats.js';

describe('PostgreSQL tables of earlier versions', { skip: missingEngine }, async () => {
  const engine = await startEngine();

  for (const version of VERSIONS) {
    test(`tables of version ${version} open with their orders and keys`, async (t) => {
      const url = await createDatabase(engine);
      const client = new pg.Client(url);
      await client.connect();
      await client.query(readFileSync(new URL(`${version}.sql`, FORMATS), 'utf8'));
      await client.end();
      const opened = await openPostgresStorage(url);
      assert.ok(opened.ok);
      t.after(opened.data.close);
      await assertOldContents(opened.data, keysOf(version, 'tables'));
    });
  }
});
