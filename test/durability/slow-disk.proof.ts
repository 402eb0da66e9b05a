import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, spread } from '../support/figures.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { createClient } from './support/client.js';
import { serving } from './support/serving.js';
import { cannotTrace } from './support/system-calls.js';

const FSYNC_MS = 40;
const CONNECTIONS = 64;
const CANCELS_PER_CONNECTION = 15;

/**
 * Returns a command that runs another command under strace. strace delays each fsync by 40 ms, and
 * records it. `--daemonize=grandchild` makes the server a child of this process, not of strace.
 */
const strace = (log: string) => [
  ...['strace', '--daemonize=grandchild', '--follow-forks', '--seccomp-bpf', '--quiet=all', `--output=${log}`],
  ...['--trace=fsync,fdatasync', `--inject=fsync,fdatasync:delay_exit=${FSYNC_MS * 1_000}`],
];

// With commits on the main thread, the median list would take 37 ms instead of 1 ms.
test(`a disk that takes ${FSYNC_MS} ms for an fsync does not hold up the event loop`, {
  skip: cannotTrace(),
}, async (t) => {
  const cwd = temporaryDirectory();
  const log = join(cwd, 'fsyncs');
  const { orders, server, client } = await serving(t, CONNECTIONS * CANCELS_PER_CONNECTION, {
    cwd,
    under: strace(log),
  });
  const before = threadsOf(log).length;
  const cancelsMs: number[] = [];
  const listsMs: number[] = [];

  async function cancelSome(): Promise<void> {
    const own = createClient(server.url, orders.key.key);
    for (const id of orders.next(CANCELS_PER_CONNECTION)) {
      const { status, tookMs } = await own.cancel(id);
      assert.equal(status, 204);
      cancelsMs.push(tookMs);
    }
    own.close();
  }

  let isOver = false;
  async function listMeanwhile(): Promise<void> {
    while (!isOver) {
      listsMs.push((await client.list()).tookMs);
      await sleep(5);
    }
  }

  const listing = listMeanwhile();
  await Promise.all(Array.from({ length: CONNECTIONS }, cancelSome));
  isOver = true;
  await listing;
  const fsyncs = threadsOf(log).slice(before);
  t.diagnostic(`${cancelsMs.length} cancels, ${fsyncs.length} fsyncs: ${spread(cancelsMs)}`);
  t.diagnostic(`${listsMs.length} lists meanwhile: ${spread(listsMs)}`);
  assert.ok(Math.min(...cancelsMs) >= FSYNC_MS, 'every cancel waited for a slow fsync');
  assert.ok(fsyncs.length > 10);
  // The main thread's id is that of the process.
  assert.ok(!fsyncs.includes(server.child.pid ?? 0), 'no fsync ran on the main thread');
  assert.ok(median(listsMs) < FSYNC_MS / 2, 'lists do not wait for an fsync');
});

/**
 * Returns the thread of each fsync so far. If strace reports a call in two lines, the first line
 * counts.
 */
function threadsOf(log: string): readonly number[] {
  const lines = readFileSync(log, 'latin1').split('\n');
  return lines.filter((line) => / f(data)?sync\(/.test(line)).map((line) => Number.parseInt(line, 10));
}
