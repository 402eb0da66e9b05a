import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type RunningServer, startServer } from '../server/support/program.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { until } from '../support/until.js';
import { createClient } from './support/client.js';
import { mountImage } from './support/mounted-image.js';
import { createOrderFile } from './support/order-file.js';

async function readiness({ url }: RunningServer): Promise<unknown> {
  const response = await fetch(new URL('/readyz', url));
  return [response.status, Object(await response.json()).backends.database];
}

test('a damaged page leads to a 503 rather than a truncated list, and /readyz and the log report it', async (t) => {
  const orders = await createOrderFile(temporaryDirectory(), 5_000);
  const server = await startServer(t, { cwd: orders.cwd });
  const client = createClient(server.url, orders.key.key);
  t.after(client.close);
  assert.deepEqual(await readiness(server), [200, 'ok']);
  const file = join(orders.cwd, 'store-orders.db');
  const bytes = readFileSync(file);
  const page = bytes.indexOf('pending') & ~0xfff;
  writeFileSync(file, bytes.fill(0xff, page, page + 4_096), { flag: 'r+' });
  const { status, headers } = await client.list();
  assert.deepEqual([status, headers['retry-after']], [503, '1']);
  assert.deepEqual(await readiness(server), [503, 'unavailable']);
  const said =
    /^store-orders\.db is damaged: .+; stop the server, keep a copy of the file and its -wal file, then run db restore /;
  await until(() => server.log().some(({ error }) => said.test(String(error))), 2_000);
});

test('on a file system that has become read-only, cancels get 503, and /readyz reports that the database is unavailable', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return t.skip('no image can be mounted: run this as root on Linux, with mkfs.ext4');
  const orders = await createOrderFile(image.directory, 10);
  const server = await startServer(t, { cwd: orders.cwd });
  const client = createClient(server.url, orders.key.key);
  t.after(client.close);
  const [first = 0n, second = 0n] = orders.next(2);
  assert.deepEqual([(await client.cancel(first)).status, (await client.list()).status], [204, 200]);
  image.makeReadOnly();
  assert.equal((await client.cancel(second)).status, 503);
  assert.deepEqual(await readiness(server), [503, 'unavailable']);
  assert.equal((await client.list()).status, 200);
});
