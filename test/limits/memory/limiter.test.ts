import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { createMemoryLimiter, createPlan, type Decision, perDay, perMinute } from 'store-orders/limiter';
import { createManualClock, rateLimiterSuite } from 'store-orders/testing';
import { createStatefulLimiter } from '../../../dist/limits/memory/limiter.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const daily = createPlan({ name: 'daily', policies: [perDay(2)] });
const strangers = createPlan({ name: 'strangers', policies: [perMinute(3)], partition: 'address' });

function start({ startMs, maxAddresses }: { startMs?: number; maxAddresses?: number } = {}) {
  const clock = createManualClock(startMs);
  return { clock, limiter: createStatefulLimiter({ clock, maxAddresses }) };
}

suite('an asynchronous limiter whose clock the tests cannot set', { concurrency: true }, () => {
  const cases = rateLimiterSuite(() => {
    const limiter = createMemoryLimiter();
    async function take(...request: Parameters<typeof limiter.take>) {
      await setTimeout(0);
      return limiter.take(...request);
    }
    return { limiter: { take } };
  });
  for (const { name, run } of cases) test(name, run);
});

test('a key and an address that are over quota stay over quota during a flood of 200,000 other addresses and keys', () => {
  const { clock, limiter } = start();
  // The addresses' shared bucket has this name.
  limiter.take('*', daily, 2);
  limiter.take('key', daily, 2);
  limiter.take('blocked', strangers, 3);
  let refused = 0;
  for (let n = 0; n < 200_000; n++) {
    if (!limiter.take(`stranger ${n}`, strangers).allowed) refused++;
    if (!limiter.take(`other ${n}`, daily).allowed) refused++;
    if (n % 4_000 === 0) clock.advance(1);
  }
  assert.equal(limiter.take('key', daily).result, 'over_quota');
  assert.equal(limiter.take('blocked', strangers).result, 'over_quota');
  assert.equal(limiter.take('valid', daily).result, 'within_quota', 'a flood of addresses does not affect keys');
  // The blocked address and 99,999 strangers have buckets of their own. All other strangers share one
  // additional bucket, which admits 3 requests.
  assert.equal(refused, 200_000 - 99_999 - 3);
});

test('when maxAddresses is reached, a new address gets its own bucket only after the window of another address has ended', () => {
  const { clock, limiter } = start({ maxAddresses: 100 });
  const slow = createPlan({ name: 'slow', policies: [{ ...perMinute(2), windowMs: DAY_MS }], partition: 'address' });
  for (let n = 0; n < 50; n++) limiter.take(`early ${n}`, strangers);
  for (let n = 0; n < 50; n++) limiter.take(`late ${n}`, slow, 2);
  assert.equal(limiter.take('newcomer', strangers, 3).result, 'within_quota', 'the shared bucket is used');

  const admitted = (wave: string) =>
    Array.from({ length: 1_000 }, (_, n) => limiter.take(`${wave} ${n}`, strangers)).filter(({ allowed }) => allowed);
  assert.equal(admitted('first wave').length, 0);
  clock.advance(MINUTE_MS);
  const second = admitted('second wave').length;
  assert.ok(second >= 3 && second <= 3 + 50, `${second} requests passed, expected at least 3 and at most 53`);
  clock.advance(MINUTE_MS);
  // By now the 50 buckets whose windows have ended are removed. The first 50 newcomers get buckets
  // of their own, and the others share 3 requests.
  assert.equal(admitted('third wave').length, 53);
  for (let n = 0; n < 50; n++) assert.equal(limiter.take(`late ${n}`, slow).inForce.remaining, 0);
});

test('requests of other keys remove the expired state of a key, but no state that still counts', () => {
  const { clock, limiter } = start();
  const month = createPlan({ name: 'month', policies: [{ name: 'month', quota: 9, windowMs: 30 * DAY_MS }] });
  const strict = createPlan({ name: 'strict', policies: [perDay(1)], ban: { after: 1, forgetMs: 2 * DAY_MS } });
  const trickle = createPlan({ name: 'trickle', policies: [{ ...perMinute(9), refill: 'continuous' }] });
  for (let n = 0; n < 100; n++) {
    limiter.take(`over ${n}`, n % 2 === 0 ? daily : trickle);
    limiter.take(`open ${n}`, month);
    limiter.ban(`banned ${n}`, 30 * DAY_MS);
    // After the first refusal ten are forgiven, and the next one starts a ban.
    for (let request = 0; request < 13; request++) limiter.take(`freed ${n}`, strict);
  }
  clock.advance(DAY_MS);
  for (let n = 0; n < 300; n++) limiter.take(`newcomer ${n}`, month);
  for (let n = 0; n < 100; n++) {
    assert.equal(limiter.inspect(`over ${n}`), undefined);
    assert.equal(limiter.inspect(`open ${n}`)?.buckets.length, 1);
    assert.equal(limiter.take(`banned ${n}`, month).result, 'banned');
    assert.equal(limiter.inspect(`freed ${n}`)?.ban?.level, 1, 'the next ban is longer');
    limiter.unban(`banned ${n}`);
    assert.equal(limiter.inspect(`banned ${n}`), undefined, 'nothing is left to store');
  }
});

test('keys whose windows have ended leave their memory to new keys', () => {
  const { clock, limiter } = start();
  const bytes = () => process.memoryUsage().arrayBuffers;
  const before = bytes();
  for (let n = 0; n < 100_000; n++) {
    limiter.take(`key ${n}`, daily);
    clock.advance(DAY_MS);
  }
  assert.ok(bytes() - before < 1_000_000);
});

test('no address is admitted before its Retry-After or above its quota, whatever other addresses send', () => {
  const requests = fc.array(fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 12 })), { maxLength: 400, size: 'max' });
  const refills = fc.constantFrom('interval', 'continuous');
  const check = fc.property(requests, fc.integer({ min: 1, max: 6 }), refills, (history, maxAddresses, refill) => {
    const policies = [{ name: 'w', quota: 3, windowMs: 50, refill }];
    const plan = createPlan({ name: 'strangers', policies, partition: 'address' });
    const { clock, limiter } = start({ maxAddresses });
    const retryAtMs = new Map<number, number>();
    const admitted = new Map<number, number[]>();
    for (const [address, ms] of history) {
      clock.advance(ms);
      const { allowed, nowMs, retryAfterMs } = limiter.take(`${address}`, plan);
      if (!allowed) {
        retryAtMs.set(address, nowMs + retryAfterMs);
        continue;
      }
      assert.ok(nowMs >= (retryAtMs.get(address) ?? 0), `${address} passed early`);
      const times = [...(admitted.get(address) ?? []), nowMs];
      admitted.set(address, times);
      // The quota is 3 requests in a window of 50 ms. Three requests can pass at the end of one
      // window and three at the beginning of the next window, which makes six within 50 ms.
      assert.ok(times.filter((atMs) => atMs > nowMs - 50).length <= 2 * 3);
    }
  });
  fc.assert(check, { numRuns: 500 });
});

function left({ windows, nowMs }: Decision): readonly (readonly number[])[] {
  return windows.map(({ remaining, resetAtMs }) => [remaining, resetAtMs - nowMs]);
}

// The limiter packs the state of most keys into a few bytes. These are the edge cases.

test('the remaining tokens are exact, even if their number needs more than 32 bits', () => {
  const { limiter } = start();
  const quota = 999_999_999_999_999;
  for (const policies of [[perMinute(quota)], [perMinute(quota), perDay(quota)]]) {
    const plan = createPlan({ name: 'huge', policies });
    let taken = 0;
    for (const cost of [1, 2 ** 31 - 3, 1, 1, 1, 2 ** 31, 1, 2 ** 32, 2 ** 32 + 1, 1]) {
      taken += cost;
      const expected = [MINUTE_MS, DAY_MS].slice(0, policies.length).map((windowMs) => [quota - taken, windowMs]);
      assert.deepEqual(left(limiter.take(`${policies.length}`, plan, cost)), expected);
    }
  }
});

test('a window ends exactly on time, whatever its length and the time of the clock', () => {
  for (const startMs of [Date.UTC(2026, 0), 0, -DAY_MS]) {
    for (const windowMs of [2 ** 31 - 1, 2 ** 31, 30 * DAY_MS, 999_999_999_999_999]) {
      const { clock, limiter } = start({ startMs });
      const plan = createPlan({ name: 'long', policies: [perMinute(9), { name: 'long', quota: 9, windowMs }] });
      for (const [afterMs, ...expected] of [
        [0, [8, MINUTE_MS], [8, windowMs]],
        [0, [7, MINUTE_MS], [7, windowMs]],
        [MINUTE_MS, [8, MINUTE_MS], [6, windowMs - MINUTE_MS]],
      ] as const) {
        clock.advance(afterMs);
        assert.deepEqual(left(limiter.take('key', plan)), expected);
      }
    }
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
  for (const [n, plan] of plans.entries()) assert.equal(limiter.take(`key ${n}`, plan).result, 'over_quota');
});

test('a window that a plan adds is counted, and one that has ended is no longer in the state of the key', () => {
  const { clock, limiter } = start();
  const one = createPlan({ name: 'one', policies: [perMinute(9)], ban: false });
  const two = createPlan({ name: 'two', policies: [perMinute(9), perDay(2)], ban: false });
  for (const plan of [one, two, two]) assert.ok(limiter.take('key', plan).allowed);
  assert.ok(!limiter.take('key', two).allowed);
  clock.advance(MINUTE_MS);
  assert.ok(!limiter.take('key', two).allowed);
  assert.deepEqual(
    limiter.inspect('key')?.buckets.map(({ name }) => name),
    ['day'],
  );
});

test('a decision keeps its values however late it is read, and JSON.stringify and inspect show all of them', () => {
  const { clock, limiter } = start();
  const plan = createPlan({ name: 'nine', policies: [perMinute(9), perDay(9)] });
  limiter.take('key', plan);
  const decision = limiter.take('key', plan, 2);
  const { nowMs } = decision;
  clock.advance(DAY_MS);
  limiter.take('key', plan);
  const windows = [MINUTE_MS, DAY_MS].map((windowMs, index) => {
    return { policy: plan.policies[index], remaining: 6, resetAtMs: nowMs + windowMs, refillAtMs: nowMs + windowMs };
  });
  const values = {
    key: 'key',
    plan,
    cost: 2,
    allowed: true,
    result: 'within_quota',
    nowMs,
    utcOffsetMs: 0,
    retryAfterMs: 0,
    windows,
    inForce: windows[1],
  };
  assert.deepEqual(JSON.parse(JSON.stringify(decision)), values);
  assert.equal(inspect(decision), inspect(values));
});
