import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { type RunningServer, startServer } from '../server/support/program.js';
import { someOf } from '../support/rounds.js';
import { temporaryDirectory, temporaryFile } from '../support/temporary-file.js';
import { createClient } from './support/client.js';
import { reopen } from './support/found.js';
import { createOrderFile, type OrderFile } from './support/order-file.js';
import { cannotTrace } from './support/system-calls.js';

const DATABASE = 'store-orders.db';
/** The longest that a server may run. It needs a fraction of this time. */
const DEADLINE_MS = 5_000;
const CANCELS = 92;
/** These cancels are sent four at a time and the others one by one, so that the failure hits both kinds. */
const TOGETHER = { from: 10, to: 42 };

/** What a server did while system calls failed. */
interface Life {
  /** The calls that failed, in strace's syntax. */
  readonly failing: string;
  /** How many calls failed. */
  readonly failed: number;
  /** Whether the server has started. */
  readonly served: boolean;
  /** Whether each cancel was carried out. If not, it got 503. */
  readonly outcomes: readonly boolean[];
  /** Whether the refused cancels were carried out when they were sent again. */
  readonly again: readonly boolean[];
  /** The number of orders that are cancelled although every request to cancel them got 503. */
  readonly unpromised: number;
}

/**
 * The system calls that are made to fail, in strace's syntax. strace counts the calls of each
 * thread and of each name separately. All commits are on one thread.
 */
const WRITES = 'inject=pwrite64,write,ftruncate';
const SYNCS = 'inject=fsync,fdatasync';

describe('a server whose system calls fail', { skip: cannotTrace() }, () => {
  let orders: OrderFile;
  let ids: readonly bigint[];

  before(async () => {
    orders = await createOrderFile(temporaryDirectory(), 2_000);
    // The ids are spread, so that a commit writes many pages.
    const all = orders.next(2_000);
    ids = Array.from({ length: CANCELS }, (_, index) => all[(index * 1_237) % all.length] ?? 0n);
  });

  /**
   * Runs a server whose system calls on its files fail, kills it, and compares its replies with what
   * is stored afterwards.
   */
  async function live(t: TestContext, failing: string, { isNew = false } = {}): Promise<Life> {
    const cwd = temporaryFile();
    const [file, record] = [join(cwd, DATABASE), `${cwd}.strace`];
    mkdirSync(cwd);
    if (!isNew) copyFileSync(join(orders.cwd, DATABASE), file);
    const paths = [cwd, file, `${file}-wal`, `${file}-journal`].flatMap((path) => ['-P', path]);
    const under = ['strace', '--daemonize=grandchild', '-f', '--seccomp-bpf', '-o', record, ...paths, '-e', failing];
    const startMs = performance.now();
    const server = await startServer(t, { cwd, under }, '--log', 'events').catch((reason) => {
      assert.match(String(reason), /the server ended with [1-9]/);
      assert.ok(performance.now() - startMs < DEADLINE_MS);
      return undefined;
    });
    const { promised, ...seen } = server === undefined || isNew ? NOTHING : await cancelAll(server);
    if (isNew) assert.equal((await server?.get('none'))?.status ?? 401, 401);
    await server?.stop('SIGKILL');
    const failed = readFileSync(record, 'latin1').split('(INJECTED)').length - 1;
    const { cancelled } = reopen(file);
    assert.deepEqual(
      promised.filter((id) => !cancelled.has(id)),
      [],
      failing,
    );
    return { failing, failed, served: server !== undefined, ...seen, unpromised: cancelled.size - promised.length };
  }

  const NOTHING = { promised: [], outcomes: [], again: [] };

  /** Cancels the orders, then those again that were refused, and requests the list. */
  async function cancelAll(server: RunningServer) {
    const late = setTimeout(() => server.child.kill('SIGKILL'), DEADLINE_MS);
    const clients = Array.from({ length: 4 }, () => createClient(server.url, orders.key.key));
    const [first] = clients;
    assert.ok(first);
    async function cancel(id: bigint, client = first): Promise<boolean> {
      assert.ok(client);
      const { status, headers, body } = await client.cancel(id);
      if (status === 204) return true;
      assert.deepEqual([status, JSON.parse(body).code, headers['retry-after']], [503, 'service_unavailable', '1']);
      return false;
    }
    try {
      const outcomes: boolean[] = [];
      while (outcomes.length < CANCELS) {
        const at = outcomes.length;
        const group = ids.slice(at, at + (at >= TOGETHER.from && at < TOGETHER.to ? clients.length : 1));
        outcomes.push(...(await Promise.all(group.map((id, index) => cancel(id, clients[index])))));
      }
      const refused = ids.filter((_, index) => outcomes[index] === false);
      const again: boolean[] = [];
      for (const id of refused) again.push(await cancel(id));
      assert.equal((await first.list()).status, 200);
      const promised = [...ids.filter((_, at) => outcomes[at]), ...refused.filter((_, at) => again[at])];
      return { promised, outcomes, again };
    } finally {
      for (const client of clients) client.close();
      clearTimeout(late);
    }
  }

  for (const { title, calls, errors } of [
    { title: 'a write', calls: WRITES, errors: ['EIO', 'ENOSPC'] },
    { title: 'an fsync', calls: SYNCS, errors: ['EIO'] },
  ]) {
    const failing = (when: number, more = '') => `${calls}:error=${errors[when % errors.length]}:when=${when}${more}`;

    test(`when ${title} fails, at most one cancel per failed call is refused, and the server keeps working`, async (t) => {
      const lives = await twoAtATime(someOf(t, 60), (n) => live(t, failing(n)));
      t.diagnostic(figuresOf(lives));
      for (const { failing, failed, served, outcomes, again, unpromised } of lives) {
        assert.ok(failed > 0, failing);
        assert.ok(outcomes.filter((done) => !done).length <= failed && !again.includes(false), failing);
        assert.equal(unpromised, 0, failing);
        if (served) assert.equal(outcomes.at(-1), true, failing);
      }
      // One server is allowed to end early: if the first system call fails, it may be unable to open
      // the file.
      assert.ok(lives.filter(({ served }) => served).length >= lives.length - 1);
    });

    test(`when ${title} and all later ones fail, every cancel from then on is refused`, async (t) => {
      const lives = await twoAtATime([2, 5, 9, 20], (n) => live(t, failing(n, '+')));
      t.diagnostic(figuresOf(lives));
      for (const { failing, failed, served, outcomes, again, unpromised } of lives) {
        assert.ok(failed > 1 && served, failing);
        const firstRefused = outcomes.indexOf(false);
        assert.ok(firstRefused >= 0 && !outcomes.slice(firstRefused).includes(true), failing);
        assert.ok(!again.includes(true), failing);
        // A refused cancel may still be in the file, if its fsync failed and nothing overwrote its
        // data.
        assert.ok(unpromised <= 1, failing);
      }
    });

    test(`when ${title} fails while the file is created, the file can still be opened afterwards`, async (t) => {
      const lives = await twoAtATime(someOf(t, 8), (n) => live(t, failing(n), { isNew: true }));
      t.diagnostic(figuresOf(lives));
      for (const { failing, failed } of lives) assert.ok(failed > 0, failing);
    });
  }
});

function figuresOf(lives: readonly Life[]): string {
  const count = (of: (life: Life) => number) => lives.reduce((sum, life) => sum + of(life), 0);
  return JSON.stringify({
    servers: lives.length,
    thatServed: count(({ served }) => Number(served)),
    cancelled: count(({ outcomes, again }) => [...outcomes, ...again].filter(Boolean).length),
    refused: count(({ outcomes }) => outcomes.filter((done) => !done).length),
    unpromised: count(({ unpromised }) => unpromised),
  });
}

async function twoAtATime<T>(numbers: readonly number[], run: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  const left = numbers.values();
  async function worker(): Promise<void> {
    for (const n of left) results.push(await run(n));
  }
  await Promise.all([worker(), worker()]);
  return results;
}
