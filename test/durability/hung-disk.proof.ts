import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningServer, startServer } from '../server/support/program.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { until } from '../support/until.js';
import { type Answer, createClient } from './support/client.js';
import { mountImage } from './support/mounted-image.js';
import { createOrderFile, type OrderFile } from './support/order-file.js';

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

/** Asserts what a server does while its disk hangs. */
async function serveThrough(
  t: TestContext,
  orders: OrderFile,
  server: RunningServer,
  freeze: () => void,
): Promise<void> {
  const client = createClient(server.url, orders.key.key);
  t.after(client.close);
  const before = await client.list();
  assert.equal((await client.cancel(orders.next(1)[0] ?? 0n)).status, 204);
  freeze();

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
  const late = await client.cancel(orders.next(1)[0] ?? 0n);
  assert.equal(late.status, 503);
  assert.ok(late.tookMs < AT_ONCE_MS);
  const readiness = await fetch(new URL('/readyz', server.url));
  assert.deepEqual([readiness.status, Object(await readiness.json()).backends.database], [503, 'unavailable']);
  assert.ok(server.log().some(({ error }) => /disk has not responded in time; check the disk/.test(String(error))));
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

test('on a frozen file system, probes and cached lists are served; after the thaw, writes succeed again', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return t.skip('no image can be mounted: run this as root on Linux, with mkfs.ext4');
  const orders = await createOrderFile(image.directory, ORDERS);
  const server = await startServer(t, { cwd: orders.cwd });
  await serveThrough(t, orders, server, image.freeze);
  image.thaw();
  const client = createClient(server.url, orders.key.key);
  t.after(client.close);
  await until(async () => (await client.cancel(orders.next(1)[0] ?? 0n)).status === 204, 3_000);
  await until(async () => (await fetch(new URL('/readyz', server.url))).status === 200, 3_000);
  assert.equal(await server.stop('SIGTERM'), 0);
});

test('if the file system is frozen, SIGTERM makes the server close its port and end its main thread within 10 s; the process exits after the thaw', async (t) => {
  const image = mountImage(t);
  if (image === undefined) return t.skip('no image can be mounted: run this as root on Linux, with mkfs.ext4');
  const orders = await createOrderFile(image.directory, ORDERS);
  const server = await startServer(t, { cwd: orders.cwd });
  const client = createClient(server.url, orders.key.key);
  t.after(client.close);
  assert.equal((await client.cancel(orders.next(1)[0] ?? 0n)).status, 204);
  image.freeze();
  const cancelled = client.cancel(orders.next(1)[0] ?? 0n);
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

/** The delay of each write and fsync of the files, except the first few calls of a thread. */
const HANG_MS = 20_000;

test('within 10 s, SIGTERM ends a server whose writes and fsyncs hang', async (t) => {
  const cwd = temporaryDirectory();
  const orders = await createOrderFile(cwd, 20);
  const file = join(cwd, 'store-orders.db');
  const under = [
    ...['strace', '--daemonize=grandchild', '--follow-forks', '--seccomp-bpf', '--quiet=all', '--output=/dev/null'],
    ...['-P', file, '-P', `${file}-wal`, `--inject=pwrite64,fsync,fdatasync:delay_enter=${HANG_MS * 1_000}:when=12+`],
  ];
  if (spawnSync('strace', ['-o', '/dev/null', 'true']).status !== 0) {
    return t.skip('strace cannot be run here: install it (apt install strace; Linux only)');
  }
  const server = await startServer(t, { cwd, under });
  const client = createClient(server.url, orders.key.key);
  t.after(client.close);
  const statuses: number[] = [];
  while (statuses.at(-1) !== 503) {
    const { status, tookMs } = await client.cancel(orders.next(1)[0] ?? 0n);
    assert.ok(tookMs < CANCEL_MS);
    statuses.push(status);
  }
  assert.ok((await timeOf(() => fetch(new URL('/healthz', server.url)))) < AT_ONCE_MS);
  assert.equal((await client.list()).status, 200);
  const startMs = performance.now();
  const ended = server.stop('SIGTERM');
  // The process stays until strace releases the delayed thread, but its main thread has ended.
  await until(() => isGone(server.child.pid ?? 0), EXIT_MS);
  t.diagnostic(`${statuses.join(', ')}; gone after ${Math.round(performance.now() - startMs)} ms`);
  assert.equal(await ended, 'SIGKILL');
});
