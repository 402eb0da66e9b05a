import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/until.js';
import { mountImage } from './support/mounts.js';
import { serving } from './support/serving.js';

test('a damaged page leads to a 503 rather than a truncated list, and /readyz and the log report it', async (t) => {
  const { orders, client, readiness, isLogged } = await serving(t, 5_000);
  assert.deepEqual(await readiness(), [200, 'ok']);
  const file = join(orders.cwd, 'store-orders.db');
  const bytes = readFileSync(file);
  const page = bytes.indexOf('pending') & ~0xfff;
  writeFileSync(file, bytes.fill(0xff, page, page + 4_096), { flag: 'r+' });
  const { status, headers } = await client.list();
  assert.deepEqual([status, headers['retry-after']], [503, '1']);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
  const said =
    /^store-orders\.db is damaged: .+; stop the server, keep a copy of the file and its -wal file, then run db restore /;
  await until(() => isLogged(said));
});

test('on a file system that has become read-only, cancels get 503, and /readyz reports that the database is unavailable', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return;
  const { client, cancel, readiness } = await serving(t, 10, { cwd: image.directory });
  assert.deepEqual([(await cancel()).status, (await client.list()).status], [204, 200]);
  image.makeReadOnly();
  assert.equal((await cancel()).status, 503);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
  assert.equal((await client.list()).status, 200);
});
