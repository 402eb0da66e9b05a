import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { slowest } from '../../support/figures.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { createClient, isCancelled } from './support/client.js';
import { mountImage } from './support/mounts.js';
import { serving } from './support/serving.js';
import { cannotTrace } from './support/system-calls.js';

/**
 * A call that waits for the disk times out after 3 s. A response that does not wait for it comes
 * sooner, even on a busy machine. A cancel can wait for two writes in turn.
 */
const AT_ONCE_MS = 2_500;
const LIST_MS = 5_000;
const CANCEL_MS = 9_000;
const EXIT_MS = 10_000;
/** There are so many orders that the list is streamed. */
const ORDERS = 1_000;
/** How long a slow fsync takes. The first cancel waits for two of them, and must not be late. */
const FSYNC_MS = 500;

test('on a full disk, lists are served, and exactly the stored cancels get 204; once there is space, the others succeed', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return;
  const { orders, client, isReported, isLogged } = await serving(t, ORDERS, { cwd: image.directory });
  const promised = new Set<bigint>();

  /** Cancels orders one by one. Returns those whose cancel was refused. */
  async function cancel(ids: readonly bigint[]): Promise<readonly bigint[]> {
    const refused: bigint[] = [];
    for (const id of ids) {
      if (isCancelled(await client.cancel(id))) promised.add(id);
      else refused.push(id);
    }
    return refused;
  }

  assert.deepEqual(await cancel(orders.next(10)), []);
  const ballast = join(image.directory, 'ballast');
  assert.match(spawnSync('cp', ['/dev/zero', ballast], { encoding: 'utf8' }).stderr, /No space left/);
  // Some of these cancels may still succeed, because they need no more space on the disk.
  const refused = await cancel(orders.next(200));
  assert.ok(refused.length > 100, `only ${refused.length} of 200 cancels were refused`);
  assert.equal((await client.list()).status, 200);
  await isReported('unavailable');
  await until(() => isLogged(/^cannot write store-orders\.db: the disk is full; free some space$/));
  assert.deepEqual(orders.look().cancelled, promised);

  rmSync(ballast);
  await isReported('ok');
  assert.deepEqual(await cancel(refused), []);
  assert.deepEqual(orders.look().cancelled, promised);
});

test('on a file system that has become read-only, lists are served, cancels get 503, and the server is not ready', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return;
  const { client, cancel, isReported } = await serving(t, 10, { cwd: image.directory });
  assert.deepEqual([(await cancel()).status, (await client.list()).status], [204, 200]);
  image.makeReadOnly();
  assert.equal((await cancel()).status, 503);
  await isReported('unavailable');
  assert.equal((await client.list()).status, 200);
});

test('lists do not wait for the fsync of a cancel', { skip: cannotTrace() }, async (t) => {
  const cwd = temporaryDirectory();
  const slow = ['-P', join(cwd, 'store-orders.db-wal'), '-e', `inject=fsync,fdatasync:delay_exit=${FSYNC_MS * 1_000}`];
  const under = ['strace', '--daemonize=grandchild', '-f', '--seccomp-bpf', '-o', '/dev/null', ...slow];
  const { orders, server, cancel } = await serving(t, 10, { cwd, under });
  const lister = createClient(server.url, orders.key.key);
  t.after(lister.close);
  let isCancelled = false;
  const cancelled = cancel().finally(() => {
    isCancelled = true;
  });
  let lists = 0;
  for (; !isCancelled; lists++) assert.equal((await lister.list()).status, 200);
  const { status, tookMs } = await cancelled;
  assert.equal(status, 204);
  assert.ok(tookMs >= FSYNC_MS, `the cancel took only ${tookMs} ms`);
  // If the lists waited too, there would be two or three.
  assert.ok(lists > 5, `${lists} lists in ${tookMs} ms`);
});

test('on a frozen file system, probes and cached lists are served; after the thaw, writes succeed again', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return;
  const { orders, server, client, cancel, isReported, isLogged } = await serving(t, ORDERS, { cwd: image.directory });
  const before = await client.list();
  assert.equal((await cancel()).status, 204);
  image.freeze();

  let isKnown = false;
  const cancels = orders.next(8).map(async (id) => {
    const own = createClient(server.url, orders.key.key);
    const answer = await own.cancel(id).finally(own.close);
    isKnown = true;
    return answer;
  });
  const probesMs: number[] = [];
  const listsMs: number[] = [];
  const knownMs: number[] = [];
  const beganMs = performance.now();
  while (performance.now() - beganMs < 8_000) {
    const startMs = performance.now();
    const isLate = isKnown;
    const listing = client.list();
    assert.equal((await fetch(new URL('/healthz', server.url))).status, 200);
    probesMs.push(performance.now() - startMs);
    const { status, body, tookMs } = await listing;
    assert.deepEqual([status, body === before.body], [200, true]);
    listsMs.push(tookMs);
    if (isLate) knownMs.push(tookMs);
    await sleep(100);
  }
  t.diagnostic(`healthz ${slowest(probesMs)} ms at most; lists ${slowest(listsMs)} ms`);
  assert.ok(slowest(probesMs) < AT_ONCE_MS);
  assert.ok(slowest(listsMs) < LIST_MS);
  assert.ok(knownMs.length > 0);
  assert.ok(slowest(knownMs) < AT_ONCE_MS, 'no request waits for a disk that is known to hang');
  for (const { status, tookMs } of await Promise.all(cancels)) {
    assert.equal(status, 503);
    assert.ok(tookMs < CANCEL_MS, `${tookMs} ms`);
  }
  const late = await cancel();
  assert.equal(late.status, 503);
  assert.ok(late.tookMs < AT_ONCE_MS);
  await isReported('unavailable');
  await until(() => isLogged(/: its disk has not responded in time; check the disk$/));

  image.thaw();
  await until(async () => (await cancel()).status === 204);
  await isReported('ok');
  assert.equal(await server.stop('SIGTERM'), 0);
});

test('if the file system is frozen before the first write, that write gets 503, and SIGTERM makes the server close its port and give up its database within 10 s; the process exits after the thaw', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return;
  const { server, client, cancel } = await serving(t, ORDERS, { cwd: image.directory });
  // The cancel then has a connection that the server has accepted before the signal.
  assert.equal((await client.list()).status, 200);
  image.freeze();
  const cancelled = cancel();
  await sleep(200);
  const ended = server.stop('SIGTERM');
  const { status, tookMs } = await cancelled;
  assert.equal(status, 503);
  assert.ok(tookMs < CANCEL_MS, `${tookMs} ms`);
  const isClosed = () =>
    server.log().some(({ event, error }) => event === 'database not closed' && /disk has not/.test(`${error}`));
  await until(isClosed, EXIT_MS);
  await assert.rejects(fetch(new URL('/healthz', server.url)));
  image.thaw();
  // The process had killed itself, but one of its threads was waiting in the kernel.
  assert.equal(await ended, 'SIGKILL');
});
