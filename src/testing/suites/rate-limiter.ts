import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { createPlan, perDay, perMinute, type RateLimiter } from '../../limits/index.js';
import { assertDecidesAsMemory, type LimiterUnderTest } from './limiter-comparison.js';
import type { TestCase } from './test-case.js';

/** The limiter to test. It must not have seen the suite's keys before. */
interface OpenedRateLimiter {
  readonly limiter: RateLimiter;
  /**
   * Advances the limiter's time by this many milliseconds. Default: waits for that time, which
   * takes some seconds in the whole suite.
   */
  readonly advance?: ((ms: number) => unknown) | undefined;
  readonly close?: (() => unknown) | undefined;
}

export type OpenRateLimiter = () => OpenedRateLimiter | Promise<OpenedRateLimiter>;

const TWO_WINDOWS = createPlan({ name: 'both', policies: [perMinute(2), perDay(3)], ban: false });
const MOMENT = createPlan({ name: 'moment', policies: [{ name: 'moment', quota: 3, windowMs: 1_200 }], ban: false });
const ODD_KEYS = [
  'key',
  'KEY',
  'key ',
  ' ',
  '',
  '__proto__',
  'constructor',
  'k:e:y',
  '{k}ey',
  'кл юч',
  '🔑',
  '*',
  'k'.repeat(2_000),
];

/**
 * Returns the cases that every `RateLimiter` must pass. Each case runs on a new limiter from
 * `open`. The suite compares the instants of decisions only with each other, never with a clock of
 * its own.
 *
 * @example
 * ```ts
 * for (const { name, run } of rateLimiterSuite(open)) test(name, run);
 * ```
 */
export function rateLimiterSuite(open: OpenRateLimiter): TestCase[] {
  if (typeof open !== 'function') throw new TypeError('open: expected a function');
  return CASES.map(([name, check]) => ({
    name,
    async run() {
      const { limiter, advance, close } = await open();
      try {
        await check({
          take: async (key, plan, cost) => limiter.take(key, plan, cost),
          // Waits 2 ms longer, because a timer may fire slightly early by the limiter's clock.
          advance: async (ms) => (advance === undefined ? setTimeout(ms + 2) : advance(ms)),
          isStill: advance !== undefined,
        });
      } finally {
        await close?.();
      }
    },
  }));
}

const CASES: readonly (readonly [string, (limiter: LimiterUnderTest) => Promise<void>])[] = [
  [
    'takes a token from every window or from none, and announces the window that would refuse first',
    async ({ take }) => {
      const rows = [
        ['within_quota', 1, 2, 'minute'],
        ['within_quota', 0, 1, 'minute'],
        ['over_quota', 0, 1, 'minute'],
        ['over_quota', 0, 1, 'minute'],
      ];
      for (const row of rows) {
        const { result, allowed, windows, inForce } = await take('key', TWO_WINDOWS);
        assert.deepEqual([result, ...windows.map(({ remaining }) => remaining), inForce.policy.name], row);
        assert.equal(allowed, result === 'within_quota');
      }
    },
  ],
  [
    'reports the plan, the cost, all windows, the window in force, and times in whole milliseconds',
    async ({ take }) => {
      for (const cost of [1, 2, 2]) {
        const decision = await take('key', TWO_WINDOWS, cost);
        assert.equal(decision.plan, TWO_WINDOWS);
        assert.equal(decision.cost, cost);
        assert.deepEqual(
          decision.windows.map(({ policy }) => policy.name),
          ['minute', 'day'],
        );
        assert.ok(decision.windows.includes(decision.inForce));
        const { nowMs, utcOffsetMs, retryAfterMs } = decision;
        for (const ms of [nowMs, utcOffsetMs, retryAfterMs]) assert.ok(Number.isSafeInteger(ms), `${ms}`);
      }
    },
  ],
  [
    'allows exactly `remaining` further requests, even if they are concurrent',
    async ({ take }) => {
      const plan = createPlan({ name: 'many', policies: [perMinute(20), perDay(1_000)], ban: false });
      const { inForce } = await take('key', plan);
      assert.equal(inForce.remaining, 19);
      const decisions = await Promise.all(Array.from({ length: 100 }, () => take('key', plan)));
      const allowed = decisions.filter((decision) => decision.allowed);
      assert.equal(allowed.length, 19);
      assert.deepEqual(
        allowed.map((decision) => decision.inForce.remaining).sort((a, b) => b - a),
        [...Array(19).keys()].reverse(),
      );
    },
  ],
  [
    'refuses at every instant before the reported wait has passed, and allows a request after the wait',
    async ({ take, advance }) => {
      for (let n = 0; n < 3; n++) await take('key', MOMENT);
      const refused = await take('key', MOMENT);
      assert.equal(refused.result, 'over_quota');
      assert.equal(refused.nowMs + refused.retryAfterMs, refused.inForce.resetAtMs);
      await advance(Math.max(0, refused.retryAfterMs - 300));
      const early = await take('key', MOMENT);
      if (early.nowMs < refused.inForce.resetAtMs)
        assert.equal(early.retryAfterMs, refused.inForce.resetAtMs - early.nowMs);
      await advance(early.retryAfterMs);
      const late = await take('key', MOMENT);
      assert.deepEqual([late.result, late.retryAfterMs], ['within_quota', 0]);
    },
  ],
  [
    'keeps the reset time constant within a window: the time of the first request plus the length of the window',
    async ({ take, advance }) => {
      const first = await take('key', MOMENT);
      assert.equal(first.inForce.resetAtMs, first.nowMs + 1_200);
      for (let n = 0; n < 3; n++) {
        await advance(100);
        const next = await take('key', MOMENT);
        if (next.nowMs < first.inForce.resetAtMs) assert.equal(next.inForce.resetAtMs, first.inForce.resetAtMs);
      }
      await advance(1_200);
      const later = await take('key', MOMENT);
      assert.deepEqual([later.inForce.remaining, later.inForce.resetAtMs], [2, later.nowMs + 1_200]);
    },
  ],
  [
    'throws a RangeError for a cost that exceeds a quota or is not a whole number, and takes nothing',
    async ({ take }) => {
      for (const cost of [3, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
        await assert.rejects(take('key', TWO_WINDOWS, cost), RangeError, `${cost}`);
      assert.equal((await take('key', TWO_WINDOWS)).inForce.remaining, 1);
    },
  ],
  [
    'counts every key separately, even unusual keys and keys that differ only in case or spaces',
    async ({ take }) => {
      for (const key of ODD_KEYS) assert.equal((await take(key, TWO_WINDOWS)).inForce.remaining, 1);
      for (const key of ODD_KEYS) assert.equal((await take(key, TWO_WINDOWS)).inForce.remaining, 0);
    },
  ],
  [
    'counts a key and an address with the same spelling separately',
    async ({ take }) => {
      const address = createPlan({ name: 'address', policies: [perMinute(2)], partition: 'address' });
      await take('192.0.2.1', TWO_WINDOWS, 2);
      assert.equal((await take('192.0.2.1', address)).inForce.remaining, 1);
    },
  ],
  [
    'applies a new plan at the next request, and still counts the tokens taken under the old plan',
    async ({ take }) => {
      const larger = createPlan({ name: 'larger', policies: [perMinute(10), perDay(100)], ban: false });
      await take('key', larger, 4);
      assert.equal((await take('key', TWO_WINDOWS)).result, 'over_quota');
      assert.equal((await take('key', larger)).inForce.remaining, 5);
    },
  ],
  [
    'bans a key that keeps sending after refusals, and does not move the end of the ban',
    async ({ take, advance }) => {
      const plan = createPlan({ name: 'strict', policies: [perDay(1)], ban: { after: 3, graceMs: 500, baseMs: 900 } });
      let banned = await take('key', plan);
      for (let n = 0, endMs = banned.nowMs + 500; n < 5 && banned.nowMs < endMs; n++) {
        banned = await take('key', plan);
        assert.equal(banned.result, 'over_quota', 'no ban may begin in the grace period');
      }
      await advance(501);
      for (let n = 0; n < 4 && banned.result !== 'banned'; n++) banned = await take('key', plan);
      assert.deepEqual([banned.result, banned.allowed, banned.inForce.remaining], ['banned', false, 0]);
      await advance(1);
      const again = await take('key', plan);
      if (again.result === 'banned') assert.deepEqual(again.inForce, banned.inForce, 'the end of a ban must not move');
      assert.equal((await take('neighbour', plan)).result, 'within_quota');
      const roomy = createPlan({ name: 'roomy', policies: [perMinute(9)] });
      const other = await take('key', roomy);
      if (other.nowMs < banned.nowMs + 900) {
        assert.deepEqual([other.result, other.retryAfterMs], ['banned', banned.nowMs + 900 - other.nowMs]);
        assert.deepEqual([other.inForce.remaining, other.inForce.resetAtMs], [0, banned.nowMs + 900]);
        assert.equal(other.windows[0]?.remaining, 9, 'a ban must take no tokens');
      }
      await advance(other.retryAfterMs);
      assert.equal((await take('key', roomy)).result, 'within_quota');
    },
  ],
  [
    'never bans an address, or a key whose plan has no bans',
    async ({ take, advance }) => {
      const address = createPlan({ name: 'address', policies: [perDay(1)], partition: 'address' });
      for (const plan of [address, createPlan({ name: 'mild', policies: [perDay(1)], ban: false })]) {
        await take('key', plan);
        await take('key', plan);
        await advance(1);
        for (let n = 0; n < 50; n++) assert.equal((await take('key', plan)).result, 'over_quota');
      }
    },
  ],
  ['decides as the memory limiter does in random sequences of calls', assertDecidesAsMemory],
];
