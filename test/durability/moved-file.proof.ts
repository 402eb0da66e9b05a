import assert from 'node:assert/strict';
import { copyFileSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startServer } from '../server/support/program.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { until } from '../support/until.js';
import { createClient } from './support/client.js';
import { createOrderFile } from './support/order-file.js';

async function serving(t: TestContext) {
  const orders = await createOrderFile(temporaryDirectory(), 20);
  const server = await startServer(t, { cwd: orders.cwd }, '--log', 'events');
  const client = createClient(server.url, orders.key.key);
  t.after(client.close);
  const file = (suffix = '') => join(orders.cwd, `store-orders.db${suffix}`);
  const readiness = async () => {
    const response = await fetch(new URL('/readyz', server.url));
    return [response.status, Object(await response.json()).backends.database];
  };
  const cancel = async () => (await client.cancel(orders.next(1)[0] ?? 0n)).status;
  const isLogged = (words: RegExp) => server.log().some(({ error }) => words.test(String(error)));
  assert.deepEqual([await cancel(), (await client.list()).status], [204, 200]);
  assert.deepEqual(await readiness(), [200, 'ok']);
  return { orders, client, file, readiness, cancel, isLogged };
}

const REMOVED = /store-orders\.db was moved or removed while in use; put it back, or stop the server and restore/;
const REPLACED = /store-orders\.db was replaced by another file while in use; restart the server to serve what is/;

test('while the database file is moved away, the server neither writes to it nor lists its orders', async (t) => {
  const { client, file, readiness, cancel, isLogged } = await serving(t);
  renameSync(file(), file('.moved'));
  assert.equal(await cancel(), 503);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
  await until(async () => (await client.list()).status === 503, 2_000);
  await until(() => isLogged(REMOVED), 2_000);
  renameSync(file('.moved'), file());
  assert.deepEqual(await readiness(), [200, 'ok']);
  assert.deepEqual([await cancel(), (await client.list()).status], [204, 200]);
});

test('after the database file is removed, cancels get 503, and the log reports the removal even without requests', async (t) => {
  const { readiness, cancel, isLogged } = await (async () => {
    const serves = await serving(t);
    rmSync(serves.file());
    return serves;
  })();
  await until(() => isLogged(REMOVED), 2_000);
  assert.equal(await cancel(), 503);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
});

test('after the database file is replaced by another, the server no longer serves the list that it has in memory', async (t) => {
  const { client, file, readiness, cancel, isLogged } = await serving(t);
  copyFileSync(file(), file('.copy'));
  renameSync(file('.copy'), file());
  assert.equal(await cancel(), 503);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
  await until(async () => (await client.list()).status === 503, 2_000);
  await until(() => isLogged(REPLACED), 2_000);
});

test('within 2 s after the write-ahead log is removed, cancels get 503', async (t) => {
  const { file, readiness, cancel } = await serving(t);
  unlinkSync(file('-wal'));
  await until(async () => (await cancel()) === 503, 2_000);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
});
