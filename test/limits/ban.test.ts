import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { createPlan, type Decision, PLANS, type Plan, type PlanOptions } from 'store-orders/limiter';
import { createManualClock, type ManualClock } from 'store-orders/testing';
import { createStatefulLimiter, type StatefulLimiter } from '../../dist/limits/memory/limiter.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let clock: ManualClock;
let limiter: StatefulLimiter;

beforeEach(() => {
  clock = createManualClock();
  limiter = createStatefulLimiter({ clock });
});

/** Creates a plan that allows one request in 30 days, so that every further request is refused. */
function strict(ban?: PlanOptions['ban']) {
  const policies = [{ name: 'month', quota: 1, windowMs: 30 * DAY }];
  return createPlan({ name: 'strict', policies, ...(ban === undefined ? {} : { ban }) });
}

/** Sends requests. Each row has a pause, then a number of requests, and the verdict on all of them. */
function follow(plan: Plan, ...rows: (readonly [pauseMs: number, requests: number, Decision['verdict']])[]): void {
  for (const [index, [pauseMs, requests, verdict]] of rows.entries()) {
    clock.advance(pauseMs);
    for (let n = 0; n < requests; n++) assert.equal(limiter.take('key', plan).verdict, verdict, `row ${index}`);
  }
}

test('README.md states when a key is banned: after 220 further refusals in a burst, and after 40 at ten a second', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replaceAll('\n', ' ');
  const rule =
    'In the two seconds after the first 429, up to 200 refusals are forgiven, or as many as the smallest quota if that is more. ' +
    'The 20th later refusal within a minute starts the ban.';
  assert.ok(readme.includes(rule));
  for (const { pauseMs, bannedAt } of [
    { pauseMs: 0, bannedAt: 200 + 20 },
    { pauseMs: 100, bannedAt: 20 + 20 },
  ]) {
    limiter.reset('key');
    follow(PLANS.free, [0, 60, 'within_quota'], [0, 1, 'over_quota']);
    for (let n = 1; n < bannedAt; n++) follow(PLANS.free, [pauseMs, 1, 'over_quota']);
    follow(PLANS.free, [pauseMs, 1, 'banned']);
    assert.equal(limiter.take('key', PLANS.free).retryAfterMs, MINUTE);
  }
});

test('the refusals that count towards a ban are those of the last 60 seconds, not of a calendar minute', () => {
  follow(
    strict({ after: 4 }),
    [0, 1, 'within_quota'],
    [0, 1, 'over_quota'],
    [2 * SECOND + 1, 1, 'over_quota'],
    [MINUTE - 1, 2, 'over_quota'],
    [1, 1, 'over_quota'],
    [0, 1, 'banned'],
  );
});

test('as many refusals as the smallest quota are forgiven, if that is more than 200', () => {
  const policies = [
    { name: 'month', quota: 1_000, windowMs: 30 * DAY },
    { name: 'year', quota: 2_000, windowMs: 365 * DAY },
  ];
  const plan = createPlan({ name: 'large', policies });
  follow(plan, [0, 1_000, 'within_quota'], [0, 1 + 1_000 + 19, 'over_quota'], [0, 1, 'banned']);
});

/** Sends requests of a key whose quota is used up, until it is banned. Returns the length of the ban. */
function getBanned(plan: Plan): number {
  follow(plan, [0, 1, 'over_quota'], [2 * SECOND + 1, 19, 'over_quota'], [0, 1, 'banned']);
  const { banEndMs = 0 } = limiter.inspect('key')?.ban ?? {};
  return banEndMs - clock.nowMs();
}

test('each ban is 4 times as long as the one before, up to an hour', () => {
  const plan = strict();
  limiter.take('key', plan);
  for (const banMs of [MINUTE, 4 * MINUTE, 16 * MINUTE, HOUR, HOUR]) {
    assert.equal(getBanned(plan), banMs);
    clock.advance(banMs);
  }
});

test('a ban that begins 24 hours after the end of the previous ban is as short as the first', () => {
  for (const [laterMs, banMs] of [
    [DAY - 1, 4 * MINUTE],
    [DAY, MINUTE],
  ] as const) {
    const plan = strict({ graceMs: 0, after: 1 });
    limiter.reset('key');
    // The first refusal after a ban never counts towards the next ban, but the one after it does.
    follow(plan, [0, 1, 'within_quota'], [0, 1, 'over_quota'], [1, 1, 'banned']);
    follow(plan, [MINUTE + laterMs - 1, 1, 'over_quota'], [1, 1, 'banned']);
    assert.equal(limiter.inspect('key')?.ban?.banMs, banMs);
  }
});
