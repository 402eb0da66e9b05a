import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { ROUNDS } from '../../../support/rounds.js';

export type Scheduler = fc.Scheduler;

/** What a played world does on each step, and how many of its calls have not settled. */
export interface World<Step> {
  act(step: Step): void;
  pending(): number;
}

/** How many answers come after a step. Mostly none, because much of what goes wrong needs calls in flight. */
const ANSWERS = [0, 0, 0, 1, 2, 3];

/**
 * Plays random steps in a world whose answers come in a random order: some when a step says so, the
 * others at the end, by which every call must have settled. Between two steps, the event loop may pass
 * without an answer. A failed run prints the order.
 */
export async function play<Step>(
  steps: fc.Arbitrary<Step>,
  createWorld: (s: Scheduler) => World<Step>,
  runs = 4 * ROUNDS,
): Promise<void> {
  const move = fc.tuple(steps, fc.boolean(), fc.constantFrom(...ANSWERS));
  const moves = fc.array(move, { maxLength: 30, size: 'max' });
  const property = fc.asyncProperty(fc.scheduler(), moves, async (s, played) => {
    const world = createWorld(s);
    for (const [step, passes, answers] of played) {
      world.act(step);
      if (passes) await turn();
      for (let answer = 0; answer < answers; answer++) await answerOne(s);
    }
    for (let idle = 0; world.pending() > 0; idle = s.count() > 0 ? 0 : idle + 1) {
      if (idle === 50) throw new Error(`${world.pending()} calls never settle`);
      await answerOne(s);
    }
  });
  await fc.assert(property, { numRuns: runs, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: false });
}

async function answerOne(s: Scheduler): Promise<void> {
  if (s.count() > 0) await s.waitOne();
  await turn();
}
