import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { createSqliteOrderStore, openSqliteDatabase } from 'store-orders/sqlite';
import { temporaryFile } from '../orders/temporary-file.js';
import { cancelling, orderId } from './cancelling-process.js';
import { type Answer, answersIn, DATABASE, lostIn } from './reopened.js';
import { ANSWERS, cannotTrace, trace } from './system-calls.js';

/** A process that cancels orders, prints the answers, and ends by itself with 0 or, to tidy nothing up, with SIGKILL. */
interface Workload {
  readonly name: string;
  /** How many orders it cancels. */
  readonly cancels: number;
  /** Whether the file is new decides whether it has to store the orders first. */
  command(file: string, isNew: boolean): [string, ...string[]];
}

const WORKLOADS: readonly Workload[] = [
  {
    name: 'the store',
    cancels: 60,
    // Alone and together, so that both meet a failure; those at the end tell whether the process goes on.
    command: (file, isNew) =>
      cancelling(file, [
        ...(isNew ? [{ put: [0, 60] } as const] : []),
        { cancel: [0, 10], atOnce: 1 },
        { cancel: [10, 40], atOnce: 4 },
        { cancel: [40, 60], atOnce: 1 },
        'close',
      ]),
  },
];

/** In strace's words: each thread counts its own calls, and of each name on its own. All commits are on one thread. */
const WRITES = 'inject=pwrite64,write,ftruncate';
const SYNCS = 'inject=fsync,fdatasync';

/** The process has 5 s, of which it needs a fraction. */
const DEADLINE_MS = 5_000;

for (const { name, command, cancels } of WORKLOADS) {
  describe(`${name} whose system calls fail`, { skip: cannotTrace() }, () => {
    const fullFile = temporaryFile();

    before(async () => {
      const database = openSqliteDatabase(fullFile);
      await createSqliteOrderStore(database).put(
        Array.from({ length: 4_000 }, (_, number) => ({ id: orderId(number) })),
      );
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
    });

    /** Runs the process with failing calls to the files, and compares its answers with what is stored afterwards. */
    async function run(failing: string, { isNew = false } = {}) {
      const folder = temporaryFile();
      const [file, record] = [join(folder, DATABASE), `${folder}.strace`];
      mkdirSync(folder);
      if (!isNew) copyFileSync(fullFile, file);
      const { exitCode, signal, errors } = await trace({
        folder,
        record,
        command: command(file, isNew),
        options: [folder, file, `${file}-wal`, `${file}-journal`].flatMap((path) => ['-P', path]).concat('-e', failing),
        deadlineMs: DEADLINE_MS,
      });
      const answers = answersIn(readFileSync(join(folder, ANSWERS), 'utf8'));
      const wentOn = exitCode === 0 || signal === 'SIGKILL';
      assert.ok(wentOn || (exitCode !== null && exitCode > 0), `${failing}: ended with ${signal} ${errors}`);
      assert.deepEqual(await lostIn(file, answers), [], failing);
      return { failing, answers, wentOn, failed: readFileSync(record, 'latin1').split('(INJECTED)').length - 1 };
    }

    for (const { title, calls, errors, last } of [
      { title: 'a write', calls: WRITES, errors: ['EIO', 'ENOSPC'], last: 60 },
      { title: 'an fsync', calls: SYNCS, errors: ['EIO'], last: 30 },
    ]) {
      const failing = (when: number, more = '') => `${calls}:error=${errors[when % errors.length]}:when=${when}${more}`;

      test(`when ${title} fails rejects at most the cancel that needs it, and goes on`, async (t) => {
        const runs = await twoAtATime(range(1, last), (n) => run(failing(n)));
        t.diagnostic(JSON.stringify(figuresOf(runs)));
        for (const { failing, answers, wentOn, failed } of runs) {
          assert.ok(failed > 0, failing);
          assert.equal(answers.length, wentOn ? cancels : 0, failing);
          const others = answers.filter(({ outcome }) => outcome !== 'cancelled');
          assert.ok(others.length <= failed && others.every(isRejected), failing);
          if (wentOn) assert.equal(answers.at(-1)?.outcome, 'cancelled', failing);
        }
        // The very first call belongs to the opening, which may be refused.
        assert.ok(runs.filter(({ wentOn }) => wentOn).length >= runs.length - 1);
        assert.ok(runs.some(({ answers }) => answers.some(isRejected)));
      });

      test(`when ${title} and all after it fail rejects every cancel from then on`, async (t) => {
        const runs = await twoAtATime([2, 5, 9, 20], (n) => run(failing(n, '+')));
        t.diagnostic(JSON.stringify(figuresOf(runs)));
        for (const { failing, answers, wentOn, failed } of runs) {
          assert.ok(failed > 1 && wentOn && answers.length === cancels, failing);
          const firstRejected = answers.findIndex(isRejected);
          assert.ok(firstRejected >= 0 && answers.slice(firstRejected).every(isRejected), failing);
        }
      });

      test(`when ${title} fails while the file is made, leaves a file that can be opened`, async (t) => {
        const runs = await twoAtATime(range(1, 8), (n) => run(failing(n), { isNew: true }));
        t.diagnostic(JSON.stringify(figuresOf(runs)));
        for (const { failing, failed } of runs) assert.ok(failed > 0, failing);
      });
    }
  });
}

function isRejected({ outcome }: Answer): boolean {
  return /^rejected \(.*(?:I\/O|disk is full).*\)$/.test(outcome);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function figuresOf(runs: readonly { answers: readonly Answer[]; wentOn: boolean; failed: number }[]) {
  return {
    runs: runs.length,
    withFailedCalls: runs.filter(({ failed }) => failed > 0).length,
    thatWentOn: runs.filter(({ wentOn }) => wentOn).length,
    cancelled: runs.flatMap(({ answers }) => answers).filter(({ outcome }) => outcome === 'cancelled').length,
    rejected: runs.flatMap(({ answers }) => answers).filter(isRejected).length,
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
