import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { until } from '../../support/until.js';
import { serving } from './support/serving.js';

async function open(t: TestContext) {
  const { orders, client, isReported, isLogged, ...serves } = await serving(t, 20);
  const file = (suffix = '') => join(orders.cwd, `store-orders.db${suffix}`);
  const cancel = async () => (await serves.cancel()).status;
  assert.deepEqual([await cancel(), (await client.list()).status], [204, 200]);
  await isReported('ok');
  return { client, file, isReported, cancel, isLogged };
}

const REMOVED =
  /store-orders\.db was moved or removed while in use; put it back, or stop the server and restore a backup$/;
const REPLACED =
  /store-orders\.db was replaced by another file while in use; restart the server to serve what is there now$/;

test('while the database file is moved away, the server neither writes to it nor lists its orders', async (t) => {
  const { client, file, isReported, cancel, isLogged } = await open(t);
  renameSync(file(), file('.moved'));
  assert.equal(await cancel(), 503);
  await isReported('unavailable');
  await until(async () => (await client.list()).status === 503);
  await until(() => isLogged(REMOVED));
  renameSync(file('.moved'), file());
  await isReported('ok');
  assert.deepEqual([await cancel(), (await client.list()).status], [204, 200]);
});

for (const [what, change, says] of [
  ['removed', (file: string) => rmSync(file), REMOVED],
  ['replaced by another', replace, REPLACED],
  [
    'without its write-ahead log',
    (file: string) => rmSync(`${file}-wal`),
    /store-orders\.db-wal was moved .+, or stop the server without killing it/,
  ],
  [
    'without the index of its log',
    (file: string) => rmSync(`${file}-shm`),
    /store-orders\.db-shm was moved .+, or stop the server without killing it/,
  ],
] as const) {
  test(`once the database file is ${what}, the log reports it even without requests, and neither cancels nor lists are served`, async (t) => {
    const { client, file, isReported, cancel, isLogged } = await open(t);
    change(file());
    await until(() => isLogged(says));
    assert.equal(await cancel(), 503);
    await isReported('unavailable');
    await until(async () => (await client.list()).status === 503);
  });
}

function replace(file: string): void {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
}

for (const what of ['list', 'cancel'] as const) {
  test(`a damaged page that a ${what} reads leads to a 503, and /readyz and the log report it`, async (t) => {
    const { orders, client, cancel, isReported, isLogged } = await serving(t, 5_000);
    await isReported('ok');
    const file = join(orders.cwd, 'store-orders.db');
    const bytes = readFileSync(file);
    const page = bytes.indexOf('pending') & ~0xfff;
    writeFileSync(file, bytes.fill(0xff, page, page + 4_096), { flag: 'r+' });
    const { status, headers } = await (what === 'list' ? client.list() : cancel());
    assert.deepEqual([status, headers['retry-after']], [503, '1']);
    await isReported('unavailable');
    const damaged =
      /^store-orders\.db is damaged: .+; stop the server, keep a copy of the file and its -wal file, then run db restore with a sound backup$/;
    await until(() => isLogged(damaged));
  });
}
