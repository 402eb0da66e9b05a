import { join } from 'node:path';
import { randomFrom } from '../../support/rounds.js';
import { createDisk, type Remains } from './disk.js';
import { type Answer, answersIn, lostAfterReboot } from './reopened.js';
import { ANSWERS, bytesOf, pathOf, readRecord } from './system-calls.js';

const SEED = 1;
const REMAINS: readonly Remains[] = ['nothing', 'everything', 'pages', 'sectors'];

/** The number of acknowledgements after which the power is cut even without an fsync. */
const ANSWERS_PER_CUT = 10;

interface Losses {
  readonly cuts: number;
  readonly fsyncs: number;
  readonly failedFsyncs: number;
  readonly cancelled: number;
  /** The number of cuts that lost an order after it was acknowledged as stored or cancelled. */
  readonly cutsThatLose: number;
  readonly mostCancelsLost: number;
  /** The first cut that lost an order. */
  readonly firstLoss: string | undefined;
}

/**
 * Replays the system calls of processes that ran in the folder one after the other. Simulates a
 * power cut before and after every fsync, and after about every tenth acknowledgement. Tries each
 * cut with every kind of `Remains`, and checks that the remaining files contain all that was
 * acknowledged before the cut. Returns what was lost. Also returns the contents of the files after
 * all calls. These differ from the real files if a record is incomplete.
 */
export async function cutPower(folder: string, records: readonly string[]) {
  const disk = createDisk(folder);
  const random = randomFrom(SEED);
  const answers: Answer[] = [];
  const losses = { cuts: 0, fsyncs: 0, failedFsyncs: 0, cutsThatLose: 0, mostCancelsLost: 0 };
  let firstLoss: string | undefined;
  let answersAtLastCut = 0;
  let position = 0;

  async function cut(): Promise<void> {
    for (const remains of disk.isUnsynced() ? REMAINS : REMAINS.slice(0, 1)) {
      losses.cuts++;
      const lost = await lostAfterReboot(disk.afterPowerCut(remains, random), answers);
      if (lost.length === 0) continue;
      losses.cutsThatLose++;
      const cancels = lost.filter(({ outcome }) => outcome === 'cancelled').length;
      losses.mostCancelsLost = Math.max(losses.mostCancelsLost, cancels);
      firstLoss ??= `${lost.length} of ${answers.length} results lost; unsynced data that survived: ${remains}`;
    }
  }

  for (const record of records) {
    for await (const call of readRecord(record, folder, position)) {
      position = call.finishedAt;
      if (pathOf(call.parameters[0]) === join(folder, ANSWERS)) {
        answers.push(...answersIn(bytesOf(call.parameters[1]).toString()));
        if (answers.length < answersAtLastCut + ANSWERS_PER_CUT) continue;
        answersAtLastCut = answers.length;
        await cut();
      } else if (call.name === 'fsync' || call.name === 'fdatasync') {
        await cut();
        disk.apply(call);
        await cut();
        if (call.result.startsWith('-1')) losses.failedFsyncs++;
        else losses.fsyncs++;
      } else disk.apply(call);
    }
  }

  const cancelled = answers.filter(({ outcome }) => outcome === 'cancelled').length;
  return { losses: { ...losses, cancelled, firstLoss } satisfies Losses, contents: disk.contents() };
}
