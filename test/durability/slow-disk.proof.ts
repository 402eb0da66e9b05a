import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, readStalls, spread } from '../support/figures.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { type Answer, createClient } from './support/client.js';
import { serving } from './support/serving.js';
import { cannotTrace } from './support/system-calls.js';

const FSYNC_MS = 40;
const STALL_MS = 25;
const CONNECTIONS = 64;
const CANCELS_PER_CONNECTION = 15;
/** The pause of each connection after a cancel, so that the test lasts for some seconds. */
const REST_MS = 100;

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
  const { orders, server } = await serving(t, CONNECTIONS * CANCELS_PER_CONNECTION, {
    cwd,
    under: strace(log),
    env: { NODE_OPTIONS: `--import=${new URL('../support/event-loop-stalls.mjs', import.meta.url)}` },
  });
  const connect = () => createClient(server.url, orders.key.key);
  let isOver = false;

  async function cancelAll(ids: readonly bigint[]): Promise<readonly Answer[]> {
    const client = connect();
    const answers: Answer[] = [];
    for (const id of ids) {
      answers.push(await client.cancel(id));
      await sleep(REST_MS);
    }
    client.close();
    return answers;
  }

  async function listMeanwhile(): Promise<readonly Answer[]> {
    const client = connect();
    const answers: Answer[] = [];
    while (!isOver) {
      answers.push(await client.list());
      await sleep(5);
    }
    client.close();
    return answers;
  }

  const before = threadsOf(log).length;
  const startMs = performance.now();
  const listing = listMeanwhile();
  const cancels = (
    await Promise.all(Array.from({ length: CONNECTIONS }, () => cancelAll(orders.next(CANCELS_PER_CONNECTION))))
  ).flat();
  const tookMs = performance.now() - startMs;
  isOver = true;
  const lists = await listing;
  const fsyncs = threadsOf(log).slice(before);
  assert.equal(await server.stop('SIGTERM'), 0);

  const times = (answers: readonly Answer[]) => answers.map(({ tookMs }) => tookMs);
  const stallsMs = readStalls(server.stderr());
  const stalls = stallsMs.filter((ms) => ms > STALL_MS).length;
  t.diagnostic(
    `${cancels.length} cancels, ${fsyncs.length} fsyncs in ${Math.round(tookMs)} ms: ${spread(times(cancels))}`,
  );
  t.diagnostic(`${lists.length} lists meanwhile: ${spread(times(lists))}`);
  t.diagnostic(`event loop stalled over ${STALL_MS} ms in ${stalls} of ${stallsMs.length} periods of 100 ms`);
  t.diagnostic(`the longest stall of each period: ${spread(stallsMs)}`);
  assert.deepEqual(new Set(cancels.map(({ status }) => status)), new Set([204]));
  assert.ok(Math.min(...times(cancels)) >= FSYNC_MS, 'every cancel waited for a slow fsync');
  assert.ok(fsyncs.length > 10);
  // The main thread's id is that of the process.
  assert.equal(fsyncs.filter((thread) => thread === server.child.pid).length, 0, 'no fsync ran on the main thread');
  // Stalls in fewer than half of the periods are allowed, because other work on the machine can
  // cause them. If commits ran on the main thread, almost every period would have a stall.
  assert.ok(stalls < stallsMs.length / 2);
  assert.ok(median(times(lists)) < STALL_MS);
});

/**
 * Returns the thread of each fsync so far. If strace reports a call in two lines, the first line
 * counts.
 */
function threadsOf(log: string): readonly number[] {
  const lines = readFileSync(log, 'latin1').split('\n');
  return lines.filter((line) => / f(data)?sync\(/.test(line)).map((line) => Number.parseInt(line, 10));
}
