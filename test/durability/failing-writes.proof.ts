import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { createSqliteOrderStore, openSqliteDatabase } from 'store-orders/sqlite';
import { issueKey } from '../server/support/program.js';
import { someOf } from '../support/rounds.js';
import { temporaryFile } from '../support/temporary-file.js';
import { cancelling, orderId } from './support/cancelling-process.js';
import { type Cancelled, cancelAtServer } from './support/cancelling-server.js';
import { type Answer, answersIn, cancelledIn, DATABASE, lostIn } from './support/reopened.js';
import { ANSWERS, cannotTrace, trace } from './support/system-calls.js';

interface Job {
  readonly file: string;
  /** Whether the file is new, without orders and without a key. */
  readonly isNew: boolean;
  readonly apiKey: string;
  /** The file to which strace writes its record of system calls. */
  readonly record: string;
  /** Further options of strace, such as the calls that should fail. */
  readonly options: readonly string[];
}

/**
 * A process that cancels orders and is then killed. It cancels most orders one by one, so that each
 * of these cancels has an fsync of its own.
 */
interface Workload {
  readonly name: string;
  /** How many orders the process cancels. */
  readonly cancels: number;
  run(t: TestContext, job: Job): Promise<Cancelled>;
}

/** The longest that the process may run. It needs a fraction of this time. */
const DEADLINE_MS = 5_000;

const WORKLOADS: readonly Workload[] = [
  {
    name: 'a store',
    cancels: 90,
    async run(_, { file, isNew, record, options }) {
      // Some cancels are sent one by one and others in groups, so that the failure hits both kinds.
      // The last cancels show whether the process keeps working.
      const command = cancelling(file, [
        ...(isNew ? [{ put: [0, 90] } as const] : []),
        { cancel: [0, 10], atOnce: 1 },
        { cancel: [10, 40], atOnce: 4 },
        { cancel: [40, 90], atOnce: 1 },
        'close',
      ]);
      const folder = dirname(file);
      const { exitCode, signal, errors } = await trace({ folder, record, command, options, deadlineMs: DEADLINE_MS });
      const wentOn = exitCode === 0 || signal === 'SIGKILL';
      assert.ok(wentOn || (exitCode !== null && exitCode > 0), `ended with ${signal} ${errors}`);
      return { answers: answersIn(readFileSync(join(folder, ANSWERS), 'utf8')), again: [], wentOn };
    },
  },
  {
    name: 'a server',
    cancels: 65,
    run: (t, { file, isNew, apiKey, record, options }) =>
      cancelAtServer(t, {
        file,
        apiKey: isNew ? undefined : apiKey,
        ids: Array.from({ length: 65 }, (_, number) => orderId(number)),
        under: ['strace', '--daemonize=grandchild', '-f', '--seccomp-bpf', '-o', record, ...options],
        deadlineMs: DEADLINE_MS,
      }),
  },
];

/**
 * The system calls that are made to fail, in strace's syntax. strace counts the calls of each
 * thread and of each name separately. All commits are on one thread.
 */
const WRITES = 'inject=pwrite64,write,ftruncate';
const SYNCS = 'inject=fsync,fdatasync';

for (const { name, run: runWorkload, cancels } of WORKLOADS) {
  describe(`${name} whose system calls fail`, { skip: cannotTrace() }, () => {
    const fullFile = temporaryFile();
    let apiKey = '';

    before(async () => {
      const database = openSqliteDatabase(fullFile);
      await createSqliteOrderStore(database).put(
        Array.from({ length: 4_000 }, (_, number) => ({ id: orderId(number) })),
      );
      const issued = await issueKey(dirname(fullFile), 'business', '--db', fullFile);
      apiKey = issued.key;
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
    });

    /**
     * Runs the process while system calls on its files fail, and compares its replies with what is
     * stored afterwards.
     */
    async function run(t: TestContext, failing: string, { isNew = false } = {}) {
      const folder = temporaryFile();
      const [file, record] = [join(folder, DATABASE), `${folder}.strace`];
      mkdirSync(folder);
      if (!isNew) copyFileSync(fullFile, file);
      const options = [folder, file, `${file}-wal`, `${file}-journal`].flatMap((path) => ['-P', path]);
      const job = { file, isNew, apiKey, record, options: [...options, '-e', failing] };
      const { answers, again, wentOn } = await runWorkload(t, job);
      const failed = readFileSync(record, 'latin1').split('(INJECTED)').length - 1;
      const promised = [...answers, ...again].filter(({ outcome }) => outcome === 'cancelled');
      assert.deepEqual(await lostIn(file, [...answers, ...again]), [], failing);
      return { failing, answers, again, wentOn, failed, unpromised: cancelledIn(file).size - promised.length };
    }

    for (const { title, calls, errors } of [
      { title: 'a write', calls: WRITES, errors: ['EIO', 'ENOSPC'] },
      { title: 'an fsync', calls: SYNCS, errors: ['EIO'] },
    ]) {
      const failing = (when: number, more = '') => `${calls}:error=${errors[when % errors.length]}:when=${when}${more}`;

      test(`when ${title} fails, at most one cancel per failed call is rejected, and the process keeps working`, async (t) => {
        const runs = await twoAtATime(someOf(t, 60), (n) => run(t, failing(n)));
        t.diagnostic(JSON.stringify(figuresOf(runs)));
        for (const { failing, answers, again, wentOn, failed, unpromised } of runs) {
          assert.ok(failed > 0, failing);
          assert.equal(answers.length, wentOn ? cancels : 0, failing);
          const others = answers.filter(({ outcome }) => outcome !== 'cancelled');
          assert.ok(others.length <= failed && others.every(isRejected), failing);
          assert.ok(
            again.every(({ outcome }) => outcome === 'cancelled'),
            failing,
          );
          assert.equal(unpromised, 0, failing);
          if (wentOn) assert.equal(answers.at(-1)?.outcome, 'cancelled', failing);
        }
        // One process is allowed to end early: if the first system call fails, the process may be
        // unable to open the file.
        assert.ok(runs.filter(({ wentOn }) => wentOn).length >= runs.length - 1);
      });

      test(`when ${title} and all later ones fail, every cancel from then on is rejected`, async (t) => {
        const runs = await twoAtATime([2, 5, 9, 20], (n) => run(t, failing(n, '+')));
        t.diagnostic(JSON.stringify(figuresOf(runs)));
        for (const { failing, answers, again, wentOn, failed, unpromised } of runs) {
          assert.ok(failed > 1 && wentOn && answers.length === cancels, failing);
          const firstRejected = answers.findIndex(isRejected);
          assert.ok(firstRejected >= 0 && answers.slice(firstRejected).every(isRejected), failing);
          assert.ok(again.every(isRejected), failing);
          // A rejected cancel may still be in the file, if its fsync failed and nothing overwrote
          // its data.
          assert.ok(unpromised <= 1, failing);
        }
      });

      test(`when ${title} fails while the file is created, the file can still be opened afterwards`, async (t) => {
        const runs = await twoAtATime(someOf(t, 8), (n) => run(t, failing(n), { isNew: true }));
        t.diagnostic(JSON.stringify(figuresOf(runs)));
        for (const { failing, failed } of runs) assert.ok(failed > 0, failing);
      });
    }
  });
}

function isRejected({ outcome }: Answer): boolean {
  return /^rejected(?: \(.*(?:I\/O|disk is full).*\))?$/.test(outcome);
}

function figuresOf(
  runs: readonly { answers: readonly Answer[]; wentOn: boolean; failed: number; unpromised: number }[],
) {
  return {
    runs: runs.length,
    withFailedCalls: runs.filter(({ failed }) => failed > 0).length,
    thatWentOn: runs.filter(({ wentOn }) => wentOn).length,
    cancelled: runs.flatMap(({ answers }) => answers).filter(({ outcome }) => outcome === 'cancelled').length,
    rejected: runs.flatMap(({ answers }) => answers).filter(isRejected).length,
    unpromised: runs.reduce((sum, { unpromised }) => sum + unpromised, 0),
  };
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
