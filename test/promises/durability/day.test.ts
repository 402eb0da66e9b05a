import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../program/support/run.js';
import { ROUNDS } from '../../support/rounds.js';
import { IS_QUICK } from '../../support/sampled.js';
import { beginDay } from './support/day.js';
import { ACTS, upgrade } from './support/day-acts.js';

const STEPS = IS_QUICK ? 5 : 4 * ROUNDS;

test(`in a day of ${STEPS} random steps, customers and the operator observe what a small model expects`, async (t) => {
  const day = await beginDay(t);
  await upgrade(day);
  const taken: string[] = [];
  try {
    for (let step = 0; step < STEPS; step++) {
      const [name, act] = day.pick(Object.entries(ACTS));
      taken.push(name);
      await act(day);
      // Often the next step has to cope with what a killed process has left.
      if (day.number(2) === 0) await day.look();
    }
    await day.look();
    assert.equal((await run(['db', 'check'], day)).stderr, '');
  } finally {
    t.diagnostic(taken.join(', '));
  }
});
