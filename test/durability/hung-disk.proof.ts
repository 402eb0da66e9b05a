import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/until.js';
import { createClient } from './support/client.js';
import { mountImage } from './support/mounts.js';
import { serving } from './support/serving.js';

/** The longest time for a response that does not wait for the disk, even on a busy machine. */
const AT_ONCE_MS = 500;
/** A call that waits for the disk times out after 3 s. A cancel can wait for two writes in turn. */
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
  const probesMs: number[] = [];
  const listsMs: number[] = [];
  const beganMs = performance.now();
  while (performance.now() - beganMs < 8_000) {
    const startMs = performance.now();
    const listing = client.list();
    assert.equal((await fetch(new URL('/healthz', server.url))).status, 200);
    probesMs.push(performance.now() - startMs);
    const { status, body, tookMs } = await listing;
    assert.deepEqual([status, body === before.body], [200, true]);
    listsMs.push(tookMs);
    await sleep(100);
  }
  t.diagnostic(`healthz ${Math.max(...probesMs)} ms at most; lists ${Math.max(...listsMs)} ms`);
  assert.ok(Math.max(...probesMs) < AT_ONCE_MS);
  assert.ok(Math.max(...listsMs) < LIST_MS);
  assert.ok(Math.max(...listsMs.slice(-20)) < AT_ONCE_MS, 'no request waits for a disk that is known to hang');
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
  await until(async () => (await cancel()).status === 204);
  await until(async () => (await readiness())[0] === 200);
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

/** Reports whether the main thread of a process has ended. */
function isGone(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return true;
  }
}
