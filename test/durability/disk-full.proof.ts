import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { answerOf } from '../server/support/program.js';
import { until } from '../support/until.js';
import { mountSmallDisk } from './support/mounts.js';
import { QUOTA } from './support/order-file.js';
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
      assert.deepEqual([status, JSON.parse(body).code, headers['retry-after']], [503, 'service_unavailable', '1']);
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
  await until(() => server.log().some(({ event }) => /^quotas not saved/.test(`${event}`)));
  assert.equal((await readiness())[0], 503);
  assert.ok(isLogged(/^cannot write store-orders\.db: the disk is full; free some/));
  assert.equal(server.child.exitCode, null);
  assert.deepEqual(orders.look().cancelled, promised, 'exactly the orders with a 204 are stored as cancelled');
  const countedMeanwhile = requests;

  rmSync(ballast);
  await until(async () => (await readiness())[0] === 200);
  // The counts that could not be saved on the full disk are saved now, although no request arrives.
  await until(async () => (await countedOnDisk()) === countedMeanwhile);
  for (const id of refused.splice(0)) assert.equal(await cancel(id), 204);
  t.diagnostic(`${promised.size} cancels got 204 in the end; the counts of ${countedMeanwhile} requests were saved`);

  assert.deepEqual(orders.look().cancelled, promised);
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
