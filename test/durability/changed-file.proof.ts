import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { until } from '../support/until.js';
import { serving } from './support/serving.js';

async function open(t: TestContext) {
  const { orders, client, readiness, isLogged, ...serves } = await serving(t, 20);
  const file = (suffix = '') => join(orders.cwd, `store-orders.db${suffix}`);
  const cancel = async () => (await serves.cancel()).status;
  assert.deepEqual([await cancel(), (await client.list()).status], [204, 200]);
  assert.deepEqual(await readiness(), [200, 'ok']);
  return { client, file, readiness, cancel, isLogged };
}

const REMOVED = /store-orders\.db was moved or removed while in use; put it back, or stop the server and restore/;
const REPLACED = /store-orders\.db was replaced by another file while in use; restart the server to serve what is/;

test('while the database file is moved away, the server neither writes to it nor lists its orders', async (t) => {
  const { client, file, readiness, cancel, isLogged } = await open(t);
  renameSync(file(), file('.moved'));
  assert.equal(await cancel(), 503);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
  await until(async () => (await client.list()).status === 503);
  await until(() => isLogged(REMOVED));
  renameSync(file('.moved'), file());
  assert.deepEqual(await readiness(), [200, 'ok']);
  assert.deepEqual([await cancel(), (await client.list()).status], [204, 200]);
});

test('after the database file is removed, cancels get 503, and the log reports the removal even without requests', async (t) => {
  const { file, readiness, cancel, isLogged } = await open(t);
  rmSync(file());
  await until(() => isLogged(REMOVED));
  assert.equal(await cancel(), 503);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
});

test('after the database file is replaced by another, the server no longer serves the list that it has in memory', async (t) => {
  const { client, file, readiness, cancel, isLogged } = await open(t);
  copyFileSync(file(), file('.copy'));
  renameSync(file('.copy'), file());
  assert.equal(await cancel(), 503);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
  await until(async () => (await client.list()).status === 503);
  await until(() => isLogged(REPLACED));
});

test('soon after the write-ahead log is removed, cancels get 503', async (t) => {
  const { file, readiness, cancel } = await open(t);
  unlinkSync(file('-wal'));
  await until(async () => (await cancel()) === 503);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
});

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
  const damaged =
    /^store-orders\.db is damaged: .+; stop the server, keep a copy of the file and its -wal file, then run db restore /;
  await until(() => isLogged(damaged));
});
