import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/until.js';
import { type Answer, createClient } from './support/client.js';
import { mountImage } from './support/mounts.js';
import { serving } from './support/serving.js';

/** The longest time for a response that does not wait for the disk, even on a busy machine. */
const AT_ONCE_MS = 500;
/**
 * A call that waits for the disk times out after 3 s. A cancel can wait for
 * two writes, one after the other.
 */
const LIST_MS = 4_000;
const CANCEL_MS = 6_500;
const EXIT_MS = 10_000;
/** There are so many orders that the list is streamed. */
const ORDERS = 1_000;

test('on a frozen file system, probes and cached lists are served; after the thaw, writes succeed again', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return;
  const { orders, server, client, cancel, readiness, isLogged } = await serving(t, ORDERS, { cwd: image.directory });
  const before = await client.list();
  assert.equal((await cancel()).status, 204);
  image.freeze();

  const cancels = orders.next(8).map(async (id) => {
    const own = createClient(server.url, orders.key.key);
    return own.cancel(id).finally(own.close);
  });
  const probes: number[] = [];
  const lists: Answer[] = [];
  const beganMs = performance.now();
  while (performance.now() - beganMs < 8_000) {
    const startMs = performance.now();
    const [health, list] = await Promise.all([fetch(new URL('/healthz', server.url)), client.list()]);
    lists.push(list);
    assert.equal(health.status, 200);
    probes.push(await timeOf(() => fetch(new URL('/healthz', server.url))));
    await sleep(Math.max(0, 100 - (performance.now() - startMs)));
  }
  t.diagnostic(`healthz ${Math.max(...probes)} ms at most; lists ${Math.max(...lists.map((list) => list.tookMs))} ms`);
  assert.ok(Math.max(...probes) < AT_ONCE_MS);
  assert.deepEqual(
    new Set(lists.map(({ status, body }) => `${status} ${body === before.body}`)),
    new Set(['200 true']),
  );
  assert.ok(lists.every(({ tookMs }) => tookMs < LIST_MS));
  assert.ok(
    lists.slice(-20).every(({ tookMs }) => tookMs < AT_ONCE_MS),
    'no request waits for a disk that is known to hang',
  );
  for (const { status, tookMs } of await Promise.all(cancels)) {
    assert.equal(status, 503);
    assert.ok(tookMs < CANCEL_MS, `${tookMs} ms`);
  }
  const late = await cancel();
  assert.equal(late.status, 503);
  assert.ok(late.tookMs < AT_ONCE_MS);
  assert.deepEqual(await readiness(), [503, 'unavailable']);
  assert.ok(isLogged(/disk has not responded in time; check the disk/));

  image.thaw();
  await until(async () => (await cancel()).status === 204, 3_000);
  await until(async () => (await readiness())[0] === 200, 3_000);
  assert.equal(await server.stop('SIGTERM'), 0);
});

test('if the file system is frozen, SIGTERM makes the server close its port and end its main thread within 10 s; the process exits after the thaw', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return;
  const { server, cancel } = await serving(t, ORDERS, { cwd: image.directory });
  assert.equal((await cancel()).status, 204);
  image.freeze();
  const cancelled = cancel();
  await sleep(200);
  const startMs = performance.now();
  const ended = server.stop('SIGTERM');
  assert.equal((await cancelled).status, 503);
  // The process cannot exit while one of its threads waits in the kernel. But the main thread has
  // ended, and the port is free.
  await until(() => isGone(server.child.pid ?? 0), EXIT_MS);
  t.diagnostic(`gone after ${Math.round(performance.now() - startMs)} ms`);
  await assert.rejects(fetch(new URL('/healthz', server.url)));
  assert.ok(
    server.log().some(({ event, error }) => event === 'database not closed' && /disk has not/.test(`${error}`)),
  );
  image.thaw();
  assert.equal(await ended, 'SIGKILL');
});

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/** Reports whether the main thread of a process has ended. */
function isGone(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return true;
  }
}
