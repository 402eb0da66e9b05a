import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createMemoryLimiter, createPlan, type Decision, type Plan, perDay, perMinute } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';
import { plainDecision } from '../../../dist/limits/limiter.js';

// Edge cases of a limiter that packs its state into a few bytes.

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function start(startMs?: number) {
  const clock = createManualClock(startMs);
  return { clock, limiter: createMemoryLimiter({ clock }) };
}

function left({ windows, nowMs }: Decision): readonly (readonly number[])[] {
  return windows.map(({ remaining, resetAtMs }) => [remaining, resetAtMs - nowMs]);
}

test('the remaining tokens are exact, even if their number needs more than 32 bits', () => {
  const { limiter } = start();
  const quota = 999_999_999_999_999;
  const plan = createPlan({ name: 'huge', policies: [perMinute(quota), perDay(quota)] });
  let taken = 0;
  for (const cost of [1, 2 ** 31 - 3, 1, 1, 1, 2 ** 31, 1, 2 ** 32, 2 ** 32 + 1, 1]) {
    taken += cost;
    assert.deepEqual(left(limiter.take('key', plan, cost)), [
      [quota - taken, MINUTE_MS],
      [quota - taken, DAY_MS],
    ]);
  }
});

test('a window ends exactly on time, even if its length in milliseconds needs more than 32 bits', () => {
  for (const windowMs of [2 ** 31 - 1, 2 ** 31, 30 * DAY_MS, 999_999_999_999_999]) {
    const { clock, limiter } = start();
    const plan = createPlan({ name: 'long', policies: [perMinute(9), { name: 'long', quota: 9, windowMs }] });
    limiter.take('key', plan);
    clock.advance(MINUTE_MS);
    assert.deepEqual(left(limiter.take('key', plan)), [
      [8, MINUTE_MS],
      [7, windowMs - MINUTE_MS],
    ]);
  }
});

test('the limiter works with a clock that starts at 0 and is set back below 0', () => {
  const { clock, limiter } = start(0);
  for (const [ms, minute, day] of [
    [0, [8, MINUTE_MS], [8, DAY_MS]],
    [1, [7, MINUTE_MS - 1], [7, DAY_MS - 1]],
    [-2, [6, MINUTE_MS], [6, DAY_MS]],
    [MINUTE_MS - 1, [5, 1], [5, DAY_MS - MINUTE_MS + 1]],
    [1, [8, MINUTE_MS], [4, DAY_MS - MINUTE_MS]],
    [-5 * DAY_MS, [7, MINUTE_MS], [3, DAY_MS]],
  ] as const) {
    clock.advance(ms);
    assert.deepEqual(left(limiter.take('key', nine)), [minute, day]);
  }
});

const nine = createPlan({ name: 'nine', policies: [perMinute(9), perDay(9)] });

test('a new key that is stored in the memory of a removed key inherits nothing from the removed key', () => {
  const { clock, limiter } = start();
  const month = createPlan({ name: 'month', policies: [{ name: 'month', quota: 9, windowMs: 30 * DAY_MS }] });
  const plans = [nine, month, createPlan({ name: 'three', policies: [perMinute(9), perDay(9), ...month.policies] })];
  const planOf = (n: number): Plan => plans[n % plans.length] ?? nine;
  for (let wave = 0; wave < 6; wave++) {
    for (let n = 0; n < 200; n++) {
      const { windows, verdict } = limiter.take(`${wave} ${n}`, planOf(n + wave), 1 + (n % 9));
      assert.equal(verdict, 'within_quota');
      for (const { remaining } of windows) assert.equal(remaining, 8 - (n % 9));
      if (n % 10 === 0) limiter.reset(`${wave} ${n}`);
      if (n % 50 === 0) limiter.ban(`${wave} ${n}`, MINUTE_MS);
    }
    clock.advance(31 * DAY_MS);
  }
});

test('keys are limited correctly even if they have 100 different plans', () => {
  const { clock, limiter } = start();
  const plans = Array.from({ length: 100 }, (_, n) =>
    createPlan({ name: `${n}`, policies: [{ name: `w${n}`, quota: 3, windowMs: MINUTE_MS + n }] }),
  );
  for (let round = 1; round <= 3; round++) {
    for (const [n, plan] of plans.entries()) {
      assert.deepEqual(left(limiter.take(`key ${n}`, plan)), [[3 - round, MINUTE_MS + n - round + 1]]);
    }
    clock.advance(1);
  }
  for (const [n, plan] of plans.entries()) assert.equal(limiter.take(`key ${n}`, plan).verdict, 'over_quota');
});

test('a decision keeps its values however late it is read, and JSON.stringify prints it like a plain object', () => {
  const { clock, limiter } = start();
  limiter.take('key', nine);
  const decision = limiter.take('key', nine, 2);
  const { nowMs } = decision;
  clock.advance(DAY_MS);
  limiter.take('key', nine);
  assert.deepEqual(JSON.parse(JSON.stringify(decision)), {
    key: 'key',
    plan: nine,
    cost: 2,
    allowed: true,
    verdict: 'within_quota',
    nowMs,
    utcOffsetMs: 0,
    retryAfterMs: 0,
    windows: [
      { policy: nine.policies[0], remaining: 6, resetAtMs: nowMs + MINUTE_MS, refillAtMs: nowMs + MINUTE_MS },
      { policy: nine.policies[1], remaining: 6, resetAtMs: nowMs + DAY_MS, refillAtMs: nowMs + DAY_MS },
    ],
    inForce: { policy: nine.policies[1], remaining: 6, resetAtMs: nowMs + DAY_MS, refillAtMs: nowMs + DAY_MS },
  });
  assert.equal(inspect(decision), inspect(plainDecision(decision)));
  assert.equal(decision.windows, decision.windows);
  assert.equal(decision.inForce, decision.windows[1]);
});
