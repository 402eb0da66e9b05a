import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { createPlan, PLANS, type Plan, type PlanOptions, perDay } from 'store-orders/limiter';
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

test('20 refusals within a minute ban a key, but refusals up to 2 s after the first do not count', () => {
  const plan = strict();
  /**
   * Each row has the milliseconds since the first refusal, the number of requests, and the verdict
   * on the last of these requests.
   */
  const rows = [
    [0, 1, 'over_quota'],
    [1, 100, 'over_quota'],
    [2 * SECOND, 100, 'over_quota'],
    [2 * SECOND + 1, 19, 'over_quota'],
    [62 * SECOND, 1, 'banned'],
  ] as const;
  limiter.take('key', plan);
  let passedMs = 0;
  for (const [sinceMs, requests, verdict] of rows) {
    clock.advance(sinceMs - passedMs);
    passedMs = sinceMs;
    for (let n = 1; n < requests; n++) assert.equal(limiter.take('key', plan).verdict, 'over_quota');
    assert.equal(limiter.take('key', plan).verdict, verdict, `${requests} requests after ${sinceMs} ms`);
  }
});

test('README.md states when a key is banned: after 220 further refusals in a burst, and after 40 at ten a second', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replaceAll('\n', ' ');
  const rule =
    'Refusals in the two seconds after the first 429 are forgiven, up to 200 or the smallest quota if that is more. ' +
    'The 20th later refusal within a minute starts the ban.';
  assert.ok(readme.includes(rule));
  for (const { pauseMs, bannedAt } of [
    { pauseMs: 0, bannedAt: 200 + 20 },
    { pauseMs: 100, bannedAt: 20 + 20 },
  ]) {
    limiter.reset('key');
    for (let n = 0; n < 60; n++) limiter.take('key', PLANS.free);
    beRefused(PLANS.free, 1);
    for (let n = 1; n < bannedAt; n++) {
      clock.advance(pauseMs);
      beRefused(PLANS.free, 1);
    }
    clock.advance(pauseMs);
    const { verdict, retryAfterMs } = limiter.take('key', PLANS.free);
    assert.deepEqual([verdict, retryAfterMs], ['banned', MINUTE], `${pauseMs} ms between requests`);
  }
});

test('the refusals that count towards a ban are those of the last 60 seconds, not of a calendar minute', () => {
  const plan = strict({ after: 4 });
  limiter.take('key', plan);
  beRefused(plan, 1);
  clock.advance(2 * SECOND + 1);
  beRefused(plan, 1);
  clock.advance(MINUTE - 1);
  beRefused(plan, 2);
  clock.advance(1);
  beRefused(plan, 1);
  assert.equal(limiter.take('key', plan).verdict, 'banned', 'the last 4 refusals came within 2 ms');
});

test('one refusal every 30 s never leads to a ban if a ban needs three refusals within a minute', () => {
  const plan = strict({ after: 3 });
  limiter.take('key', plan);
  beRefused(plan, 1);
  for (let n = 0; n < 50; n++) {
    clock.advance(MINUTE / 2);
    beRefused(plan, 1);
  }
  assert.equal(limiter.inspect('key')?.ban?.strikesAtMs.length, 2);
});

for (const { quota, after, forgiven } of [
  { quota: 1, after: 20, forgiven: 200 },
  { quota: 1_000, after: 20, forgiven: 1_000 },
  { quota: 1, after: 1, forgiven: 10 },
]) {
  test(`with a ban after ${after} refusals that count and a quota of ${quota}, at most ${forgiven} refusals in the grace period do not count`, () => {
    const policies = [
      { name: 'month', quota, windowMs: 30 * DAY },
      { name: 'year', quota: 2 * quota, windowMs: 365 * DAY },
    ];
    const plan = createPlan({ name: 'strict', policies, ban: { after } });
    limiter.take('key', plan, quota);
    beRefused(plan, 1 + forgiven + after - 1);
    assert.deepEqual(limiter.inspect('key')?.ban?.forgiven, forgiven);
    assert.equal(limiter.take('key', plan).verdict, 'banned');
  });
}

test('an allowed request erases earlier refusals, and the next refusal counts as the first of a new series', () => {
  const plan = createPlan({ name: 'quick', policies: [{ name: 'moment', quota: 1, windowMs: 10 * SECOND }] });
  for (let streak = 0; streak < 5; streak++) {
    assert.equal(limiter.take('key', plan).verdict, 'within_quota');
    beRefused(plan, 201);
    clock.advance(3 * SECOND);
    beRefused(plan, 19);
    clock.advance(7 * SECOND);
  }
  limiter.take('key', plan);
  beRefused(plan, 1);
  assert.deepEqual(limiter.inspect('key')?.ban?.strikesAtMs, []);
});

test('each ban is 4 times as long as the one before, up to an hour', () => {
  const plan = strict();
  limiter.take('key', plan);
  for (const banMs of [MINUTE, 4 * MINUTE, 16 * MINUTE, HOUR, HOUR]) {
    assert.equal(getBanned(plan), banMs);
    clock.advance(banMs);
  }
});

for (const { laterMs, banMs } of [
  { laterMs: DAY - 1, banMs: 4 * MINUTE },
  { laterMs: DAY, banMs: MINUTE },
]) {
  test(`a ban that begins ${laterMs} ms after the end of the previous ban lasts ${banMs / MINUTE} minutes`, () => {
    const plan = strict({ graceMs: 0, after: 1 });
    limiter.take('key', plan);
    beRefused(plan, 1);
    clock.advance(1);
    assert.equal(limiter.take('key', plan).verdict, 'banned');
    clock.advance(MINUTE);
    // The first refusal after a ban never counts towards the next ban. The refusal a millisecond
    // later counts, and causes the next ban.
    clock.advance(laterMs - 1);
    beRefused(plan, 1);
    clock.advance(1);
    const decision = limiter.take('key', plan);
    assert.equal(decision.verdict, 'banned');
    assert.equal(limiter.inspect('key')?.ban?.banMs, banMs);
  });
}

test('requests during a ban neither prolong the ban nor use quota', () => {
  const plan = createPlan({ name: 'small', policies: [{ name: 'moment', quota: 2, windowMs: SECOND }] });
  limiter.ban('key', MINUTE);
  for (let leftMs = MINUTE; leftMs > 0; leftMs -= 500) {
    for (let n = 0; n < 30; n++) {
      const decision = limiter.take('key', plan);
      assert.equal(decision.allowed, false);
      assert.equal(decision.verdict, 'banned');
      assert.equal(decision.retryAfterMs, leftMs);
      assert.equal(decision.inForce.remaining, 0);
    }
    clock.advance(500);
  }
  assert.equal(limiter.take('key', plan).inForce.remaining, 1);
  assert.equal(limiter.inspect('key')?.ban, undefined);
});

test('if a used-up window resets after the ban ends, the key must wait for the window', () => {
  const plan = strict({ graceMs: 0, after: 1 });
  limiter.take('key', plan);
  beRefused(plan, 1);
  clock.advance(1);
  assert.equal(limiter.take('key', plan).retryAfterMs, 30 * DAY - 1);
  limiter.ban('key', 40 * DAY);
  assert.equal(limiter.take('key', plan).retryAfterMs, 40 * DAY);
});

test('a ban stays in force when the key changes to another plan, even one without bans', () => {
  const plan = strict();
  limiter.take('key', plan);
  getBanned(plan);
  assert.equal(limiter.take('key', createPlan({ name: 'other', policies: [perDay(9)] })).verdict, 'banned');
  assert.equal(limiter.take('key', createPlan({ name: 'off', policies: [perDay(9)], ban: false })).verdict, 'banned');
});

test('a ban by hand does not make the next automatic ban longer, but an earlier automatic ban does', () => {
  const plan = strict();
  limiter.take('key', plan);
  limiter.ban('key', 5 * MINUTE);
  clock.advance(5 * MINUTE);
  assert.equal(getBanned(plan), MINUTE);
  limiter.ban('key', 5 * MINUTE);
  clock.advance(5 * MINUTE);
  assert.equal(getBanned(plan), 4 * MINUTE);
});

test('a key can be banned and unbanned by hand, whatever its plan says about bans; an address cannot', () => {
  const plan = strict(false);
  limiter.take('key', plan);
  limiter.ban('key', MINUTE);
  assert.equal(limiter.take('key', plan).verdict, 'banned');
  limiter.unban('key');
  assert.equal(limiter.take('key', plan).verdict, 'over_quota', 'unbanning refills no bucket');
  limiter.ban('192.0.2.2', MINUTE);
  const strangers = createPlan({ name: 'strangers', policies: [perDay(1)], partition: 'address' });
  assert.equal(limiter.take('192.0.2.2', strangers).verdict, 'within_quota');
});

test('unbanning a key erases its earlier bans, resetting it its whole state', () => {
  const plan = strict();
  limiter.take('key', plan);
  getBanned(plan);
  limiter.unban('key');
  assert.equal(getBanned(plan), MINUTE);
  limiter.reset('key');
  limiter.ban('other', MINUTE);
  limiter.unban('other');
  limiter.unban('unknown');
  for (const key of ['key', 'other', 'unknown']) assert.equal(limiter.inspect(key), undefined);
  assert.equal(limiter.take('key', plan).verdict, 'within_quota');
});

function beRefused(plan: Plan, times: number): void {
  for (let n = 0; n < times; n++) assert.equal(limiter.take('key', plan).verdict, 'over_quota');
}

/**
 * Sends requests of a key whose quota is used up, until the key is banned. Returns the length of
 * the ban.
 */
function getBanned(plan: ReturnType<typeof strict>): number | undefined {
  beRefused(plan, 1);
  clock.advance(2 * SECOND + 1);
  beRefused(plan, 19);
  assert.equal(limiter.take('key', plan).verdict, 'banned');
  const state = limiter.inspect('key')?.ban;
  assert.equal(state?.banEndMs, clock.nowMs() + (state?.banMs ?? 0));
  return state?.banMs;
}
