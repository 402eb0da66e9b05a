import { banned, GOOD_CONDUCT } from './ban.js';
import { createBucketPool } from './bucket-pool.js';
import { type Clock, createSystemClock } from './clock.js';
import type { Decision, KeyState, RateLimiter } from './limiter.js';
import { type Plan, wholeNumber } from './plan.js';
import { decide, giveBack, keyState } from './rule.js';
import type { Instant } from './token-bucket.js';

/** {@link RateLimiter} in memory: every method answers at once. Exact, never forgets a counter, starts no timer. */
export interface MemoryLimiter extends RateLimiter {
  take(key: string, plan: Plan, cost?: number): Decision;
  /** What `take` would answer now; nothing is changed. */
  peek(key: string, plan: Plan, cost?: number): Decision;
  /** Puts back what a decision took, as far as its windows are still open. Call it at most once for a decision of `take`. */
  refund(decision: Decision): void;
  /** What is remembered of a key, `undefined` for nothing. It can be stored, and given to `restore` later. */
  inspect(key: string): KeyState | undefined;
  /** Replaces what is remembered of a key: all of its windows, strikes and bans. */
  restore(key: string, state: KeyState): void;
  /** Forgets the key: full buckets, no ban. */
  reset(key: string): void;
  /** Refuses the key for `ms` milliseconds from now, whatever its plan says of bans. */
  ban(key: string, ms: number): void;
  /** Ends a ban, and forgets the ones before. */
  unban(key: string): void;
}

export interface MemoryLimiterOptions {
  /** Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
  /** Most addresses with a bucket of their own at a time; further ones share one. Default: 100,000. */
  readonly maxAddresses?: number | undefined;
}

/**
 * Two pools that cannot evict each other: keys, as many as are issued, and addresses (plans of the partition `address`),
 * which strangers choose. `inspect`, `restore`, `reset`, `ban` and `unban` are about keys. Throws a RangeError for a bad option.
 */
export function createMemoryLimiter(options: MemoryLimiterOptions = {}): MemoryLimiter {
  const { clock = createSystemClock(), maxAddresses = 100_000 } = options;
  wholeNumber('maxAddresses', maxAddresses, 1);
  const keys = createBucketPool(Number.POSITIVE_INFINITY);
  const addresses = createBucketPool(maxAddresses);
  const poolOf = ({ partition }: Plan) => (partition === 'address' ? addresses : keys);
  const read = (): Instant => ({ nowMs: clock.nowMs(), utcOffsetMs: clock.utcOffsetMs() });

  return {
    take(key, plan, cost = 1) {
      checkCost(cost, plan);
      const instant = read();
      const pool = poolOf(plan);
      const place = pool.place(key, instant.nowMs);
      const { decision, next } = decide(place, pool.get(place), plan, cost, instant);
      pool.set(place, next);
      return decision;
    },

    peek(key, plan, cost = 1) {
      checkCost(cost, plan);
      const instant = read();
      const pool = poolOf(plan);
      const place = pool.place(key, instant.nowMs);
      return decide(place, pool.get(place), plan, cost, instant).decision;
    },

    refund(decision) {
      const pool = poolOf(decision.plan);
      const state = pool.get(decision.key);
      if (decision.verdict !== 'within_quota' || state === undefined) return;
      pool.set(decision.key, giveBack(state, decision, clock.nowMs()));
    },

    inspect: (key) => keys.get(key),
    restore: (key, state) => keys.set(key, state),
    reset: (key) => keys.set(key, undefined),

    ban(key, ms) {
      wholeNumber('ms', ms, 1);
      const { buckets, conduct } = keys.get(key) ?? { buckets: [] };
      keys.set(key, { buckets, conduct: banned(conduct ?? GOOD_CONDUCT, ms, clock.nowMs()) });
    },

    unban(key) {
      const state = keys.get(key);
      if (state !== undefined) keys.set(key, keyState(state.buckets));
    },
  };
}

export function checkCost(cost: number, plan: Plan): void {
  if (!Number.isInteger(cost) || cost < 0) throw new RangeError('cost: expected a whole number from 0 up');
  for (const { name, quota } of plan.policies) {
    if (cost > quota)
      throw new RangeError(`cost: ${cost} is above the quota of ${quota} per ${name}, it could never pass`);
  }
}
