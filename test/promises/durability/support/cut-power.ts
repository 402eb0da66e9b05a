import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { randomFrom } from '../../../support/rounds.js';
import { temporaryDirectory, temporaryFile } from '../../../support/temporary-file.js';
import type { Step } from './cancelling-process.js';
import { Disk, type Remains } from './disk.js';
import { reopen, without } from './found.js';
import { ANSWERS, bytesOf, pathOf, readRecord, trace } from './system-calls.js';

const SEED = 1;
const REMAINS: readonly Remains[] = ['nothing', 'everything', 'something', 'something'];
/** The number of acknowledgements after which the power is cut even without an fsync. */
const ANSWERS_PER_CUT = 10;
const DATABASE = 'orders.db';
const PROCESS = [process.execPath, '--import', 'tsx', join(import.meta.dirname, 'cancelling-process.ts')];

/** What a process does before it is killed. */
export interface Run {
  readonly steps: readonly Step[];
  /**
   * Which fsyncs of each thread fail, in strace's syntax: `10+7` for the 10th and every 7th after
   * it, `10+` for the 10th and all after it.
   */
  readonly failingFsyncs?: string;
}

/**
 * Runs the processes one after the other, and replays their system calls. Simulates a power cut
 * before and after every fsync, and after about every tenth acknowledgement. Asserts after each cut
 * that the remaining files contain all that was acknowledged before.
 */
export async function cutPower(t: TestContext, ...runs: readonly Run[]) {
  const folder = temporaryDirectory();
  const disk = new Disk(folder);
  const random = randomFrom(SEED);
  const promised = { stored: new Set<bigint>(), cancelled: new Set<bigint>() };
  /** `cutsThatLose` counts the cuts that lose cancels, none of which was acknowledged. */
  const total = { cuts: 0, cutsThatLose: 0, failedFsyncs: 0, cancelled: 0 };
  let answers = 0;
  let answersAtLastCut = 0;
  let position = 0;

  function cut(): void {
    const remains = disk.isUnsynced() ? REMAINS : REMAINS.slice(0, 1);
    const found = remains.map((remains) => boot(disk.afterPowerCut(remains, random)));
    const mostCancelled = Math.max(...found.map(({ cancelled }) => cancelled.size));
    for (const [index, { stored, cancelled }] of found.entries()) {
      const lost = [...without(promised.stored, stored), ...without(promised.cancelled, cancelled)];
      assert.deepEqual(lost, [], `after ${answers} answers; ${remains[index]} remains of the unsynced data`);
      total.cuts++;
      if (cancelled.size < mostCancelled) total.cutsThatLose++;
    }
  }

  for (const { steps, failingFsyncs } of runs) {
    const record = temporaryFile();
    const options = failingFsyncs === undefined ? [] : ['-e', `inject=fsync,fdatasync:error=EIO:when=${failingFsyncs}`];
    await trace(folder, record, [...options, ...PROCESS, join(folder, DATABASE), JSON.stringify(steps)]);
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
        if (call.result.startsWith('-1')) total.failedFsyncs++;
      } else disk.apply(call);
    }
  }

  total.cancelled = promised.cancelled.size;
  t.diagnostic(JSON.stringify(total));
  for (const [name, bytes] of disk.contents()) {
    assert.ok(bytes.equals(readFileSync(join(folder, name))), `the strace record has every byte of ${name}`);
  }
  return total;
}

/** Opens the store on the files that a power cut left. */
function boot(files: ReadonlyMap<string, Buffer>) {
  const folder = temporaryDirectory();
  for (const [name, contents] of files) writeFileSync(join(folder, name), contents);
  const found = reopen(join(folder, DATABASE));
  rmSync(folder, { recursive: true });
  return found;
}
