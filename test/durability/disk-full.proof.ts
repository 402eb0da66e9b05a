import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { answerOf, run, startServer } from '../server/support/program.js';
import { until } from '../support/until.js';
import { mountSmallDisk } from './support/mounts.js';
import { createOrderFile, QUOTA } from './support/order-file.js';
import { serving } from './support/serving.js';

test('on a full disk, lists are still served, and a cancel is acknowledged only if it was stored; once space is free, everything works again', async (t) => {
  const directory = mountSmallDisk(t);
  if (directory === undefined) return;
  const { orders, server, client, readiness, isLogged } = await serving(t, 500, { cwd: directory });
  const countedOnDisk = async () => {
    const shown = JSON.stringify(await answerOf(['quota', 'show', orders.key.id], { cwd: directory }));
    return QUOTA - Number(/"name":"day".*?"remaining":(\d+)/.exec(shown)?.[1]);
  };

  const promised = new Set<bigint>();
  const refused: bigint[] = [];
  let requests = 0;
  async function cancel(id: bigint): Promise<number> {
    requests++;
    const { status, headers, body } = await client.cancel(id);
    if (status === 204) {
      promised.add(id);
    } else {
      assert.equal(status, 503);
      assert.equal(headers['retry-after'], '1');
      assert.deepEqual(Object.keys(JSON.parse(body)).sort(), ['code', 'message', 'status']);
      assert.equal(JSON.parse(body).code, 'service_unavailable');
      refused.push(id);
    }
    return status;
  }

  for (const id of orders.next(10)) assert.equal(await cancel(id), 204);
  const ballast = join(directory, 'ballast');
  fillDisk(ballast);
  // Some of these cancels may still succeed, because they need no more space on the disk. Every
  // cancel that gets a 204 must be stored.
  for (const id of orders.next(200)) await cancel(id);
  assert.ok(refused.length > 100, `only ${refused.length} of 200 cancels were refused`);
  requests++;
  assert.equal((await client.list()).status, 200);
  await until(() => server.log().some(({ event }) => /^quotas not saved/.test(`${event}`)), 2_000);
  assert.equal((await readiness())[0], 503);
  assert.ok(isLogged(/^cannot write store-orders\.db: the disk is full; free some/));
  assert.equal(server.child.exitCode, null);
  assert.deepEqual(orders.look().cancelled, promised, 'exactly the orders with a 204 are stored as cancelled');
  const countedMeanwhile = requests;

  rmSync(ballast);
  await until(async () => (await readiness())[0] === 200, 2_000);
  // The counts that could not be saved on the full disk are saved now, although no request arrives.
  await until(async () => (await countedOnDisk()) === countedMeanwhile, 3_000);
  for (const id of refused.splice(0)) assert.equal(await cancel(id), 204);
  t.diagnostic(`${promised.size} cancels got 204 in the end; the counts of ${countedMeanwhile} requests were saved`);

  assert.equal(await server.stop('SIGTERM'), 0);
  const restarted = await startServer(t, { cwd: directory });
  const found = orders.look();
  await restarted.stop('SIGTERM');
  assert.deepEqual(found.cancelled, promised);
});

test('on a full disk, commands say that it is full, whichever file of SQLite has no space', async (t) => {
  const directory = mountSmallDisk(t);
  if (directory === undefined) return;
  await createOrderFile(directory, 500);
  const ballast = join(directory, 'ballast');
  fillDisk(ballast);
  const create = () => run(['keys', 'create', '--plan', 'free'], { cwd: directory });
  const says = (operation: string) =>
    `store-orders: cannot ${operation} store-orders.db: the disk is full; free some space\n`;
  assert.deepEqual(await create(), { code: 1, stdout: '', stderr: says('open') });
  // A held connection keeps its -shm, so that only the log lacks space.
  rmSync(ballast);
  const other = openSqliteDatabase(join(directory, 'store-orders.db'));
  other.prepare('SELECT * FROM keys').all();
  fillDisk(ballast);
  assert.deepEqual(await create(), { code: 1, stdout: '', stderr: says('use') });
  other.close();
});

function fillDisk(file: string): void {
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      assert.ok(error instanceof Error && 'code' in error && error.code === 'ENOSPC', String(error));
    }
  }
}
