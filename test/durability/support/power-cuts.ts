import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { randomFrom } from '../../support/rounds.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { cancelling, type Step, type StoreName } from './cancelling-process.js';
import { Disk, type Remains } from './disk.js';
import { reopen } from './found.js';
import { ANSWERS, bytesOf, pathOf, readRecord, trace } from './system-calls.js';

const SEED = 1;
const REMAINS: readonly Remains[] = ['nothing', 'everything', 'something', 'something'];
/** The number of acknowledgements after which the power is cut even without an fsync. */
const ANSWERS_PER_CUT = 10;
const DATABASE = 'orders.db';

/** What a process does before it is killed. */
export interface Run {
  readonly steps: readonly Step[];
  readonly store?: StoreName;
  /**
   * Which fsyncs of each thread fail, in strace's syntax: `10+7` for the 10th and every 7th after
   * it, `10+` for the 10th and all after it.
   */
  readonly failingFsyncs?: string;
}

/**
 * Runs the processes one after the other, and replays their system calls. Simulates a power cut
 * before and after every fsync, and after about every tenth acknowledgement. Checks after each cut
 * that the remaining files contain all that was acknowledged before. Returns what was lost.
 */
export async function powerCuts(t: TestContext, ...runs: readonly Run[]) {
  const folder = temporaryFile();
  mkdirSync(folder);
  const disk = new Disk(folder);
  const random = randomFrom(SEED);
  const promised = { stored: new Set<bigint>(), cancelled: new Set<bigint>() };
  const losses = { cuts: 0, failedFsyncs: 0, cutsThatLose: 0, cancelled: 0, firstLoss: '' };
  let answers = 0;
  let answersAtLastCut = 0;
  let position = 0;

  function cut(): void {
    for (const remains of disk.isUnsynced() ? REMAINS : REMAINS.slice(0, 1)) {
      losses.cuts++;
      const found = boot(disk.afterPowerCut(remains, random));
      const stored = missing(promised.stored, found.stored);
      const cancelled = missing(promised.cancelled, found.cancelled);
      if (stored + cancelled === 0) continue;
      losses.cutsThatLose++;
      losses.firstLoss ||= `${stored} stored and ${cancelled} cancelled of ${answers} lost; unsynced data: ${remains}`;
    }
  }

  for (const { steps, store, failingFsyncs } of runs) {
    const record = temporaryFile();
    const options = failingFsyncs === undefined ? [] : ['-e', `inject=fsync,fdatasync:error=EIO:when=${failingFsyncs}`];
    await trace(folder, record, [...options, ...cancelling(join(folder, DATABASE), steps, store)]);
    for await (const call of readRecord(record, folder, position)) {
      position = call.finishedAt;
      if (pathOf(call.parameters[0]) === join(folder, ANSWERS)) {
        for (const [, outcome, id = ''] of `${bytesOf(call.parameters[1])}`.matchAll(/^(\w+) (\d+)$/gm)) {
          answers++;
          if (outcome === 'stored' || outcome === 'cancelled') promised[outcome].add(BigInt(id));
        }
        if (answers < answersAtLastCut + ANSWERS_PER_CUT) continue;
        answersAtLastCut = answers;
        cut();
      } else if (call.name === 'fsync' || call.name === 'fdatasync') {
        cut();
        disk.apply(call);
        cut();
        if (call.result.startsWith('-1')) losses.failedFsyncs++;
      } else disk.apply(call);
    }
  }

  losses.cancelled = promised.cancelled.size;
  t.diagnostic(JSON.stringify(losses));
  for (const [name, bytes] of disk.contents()) {
    assert.ok(bytes.equals(readFileSync(join(folder, name))), `the strace record has every byte of ${name}`);
  }
  return losses;
}

/** Opens the store on the files that a power cut left. */
function boot(files: ReadonlyMap<string, Buffer>) {
  const folder = temporaryFile();
  mkdirSync(folder);
  for (const [name, contents] of files) writeFileSync(join(folder, name), contents);
  const found = reopen(join(folder, DATABASE));
  rmSync(folder, { recursive: true });
  return found;
}

function missing(ids: ReadonlySet<bigint>, found: ReadonlySet<bigint>): number {
  return [...ids].filter((id) => !found.has(id)).length;
}
