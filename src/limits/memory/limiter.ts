import { checkFields, checkWholeNumber } from '../../check.js';
import { NO_STRIKES, withBan } from '../ban.js';
import { type Clock, checkClock, createSystemClock } from '../clock.js';
import { checkCost, type Decision, type KeyState, type RateLimiter } from '../limiter.js';
import { checkPlan, type Plan } from '../plan.js';
import { decide, keyState } from '../rule.js';
import type { Instant } from '../token-bucket.js';
import { BucketPool } from './bucket-pool.js';
import { checkKeyState, shiftTimes } from './key-state.js';
import { type PackedPlan, packPlan } from './packed-plan.js';

/**
 * A {@link RateLimiter} that stores its counts in memory. Every method is synchronous. The counts
 * are exact, and none is removed while it can affect a decision. No timer is started.
 */
export interface MemoryLimiter extends RateLimiter {
  take(key: string, plan: Plan, cost?: number): Decision;
  /**
   * Returns what `take` would decide now, with the windows as they would be after the request. With a
   * cost of 0, they are as they are now. Changes nothing.
   */
  peek(key: string, plan: Plan, cost?: number): Decision;
  /** Removes the stored state of a key. Its buckets are then full, and it is not banned. */
  reset(key: string): void;
  /** Refuses the key for `ms` milliseconds from now, whatever its plan says about bans. */
  ban(key: string, ms: number): void;
  /** Ends the ban of a key, and forgets its refusals and earlier bans. */
  unban(key: string): void;
  /**
   * Returns what is stored about a key, if anything, as plain data for JSON with Unix times. Ended
   * windows may still be in it. Save it, so that a restart does not refill the quotas.
   */
  inspect(key: string): KeyState | undefined;
  /**
   * Replaces what is stored about a key by what `inspect` has returned, perhaps in an earlier process.
   * Throws a TypeError or RangeError that names what is wrong in the state.
   */
  restore(key: string, state: KeyState): void;
}

export interface MemoryLimiterOptions {
  /** Default: the process's monotonic clock. It may stand still while the machine is suspended. */
  readonly clock?: Clock | undefined;
  /**
   * How many addresses can have a bucket of their own at a time. Further addresses share one
   * bucket. At most 8,000,000. Default: 100,000.
   */
  readonly maxAddresses?: number | undefined;
}

interface PooledPlan extends PackedPlan {
  readonly pool: BucketPool;
}

/**
 * Creates an in-memory rate limiter. API keys are stored separately from addresses (plans with
 * `partition: 'address'`), so that requests from many addresses do not affect the keys. `reset`,
 * `ban` and `unban` work only on keys. Throws a TypeError or RangeError that names the bad option.
 *
 * @example
 * ```ts
 * import { createMemoryLimiter, PLANS } from 'store-orders/limiter';
 *
 * const limiter = createMemoryLimiter();
 * const { allowed, retryAfterMs } = limiter.take('ann', PLANS.free);
 * ```
 */
export function createMemoryLimiter(options: MemoryLimiterOptions = {}): MemoryLimiter {
  const { clock, ...limiter } = createStatefulLimiter(options);
  return {
    ...limiter,
    inspect(key) {
      const state = limiter.inspect(key);
      return state && shiftTimes(state, clock.utcOffsetMs());
    },
    restore(key, state) {
      checkKeyState(state);
      limiter.restore(key, shiftTimes(state, -clock.utcOffsetMs()));
    },
  };
}

/** Returns also the clock, whose instants `inspect` and `restore` then have, unchecked. */
export function createStatefulLimiter(options: MemoryLimiterOptions = {}): MemoryLimiter & { readonly clock: Clock } {
  checkFields('options', options, ['clock', 'maxAddresses']);
  const { clock = createSystemClock(), maxAddresses = 100_000 } = options;
  checkClock(clock);
  // V8 fails to add to a `Map` with many deleted keys if it has more than 2^23 others.
  checkWholeNumber('maxAddresses', maxAddresses, 1, 8_000_000);
  const keys = new BucketPool(Number.POSITIVE_INFINITY);
  const addresses = new BucketPool(maxAddresses);
  const packedPlans = new WeakMap<Plan, PooledPlan>();
  let recent: PooledPlan | undefined;
  let lastInstant: Instant = { nowMs: Number.NaN, utcOffsetMs: 0 };

  function packedOf(plan: Plan): PooledPlan {
    // Consecutive requests mostly have the same plan, and comparing is quicker than a look-up.
    return recent !== undefined && recent.plan === plan ? recent : lookUpPacked(plan);
  }

  function lookUpPacked(plan: Plan): PooledPlan {
    let packed = packedPlans.get(plan);
    if (packed === undefined) {
      // A plan that was not created by `createPlan` can still change, so decisions refer to a copy.
      const checked = checkPlan(plan);
      const pool = checked.partition === 'address' ? addresses : keys;
      packed = { ...packPlan(checked, pool.shapeOf(checked.policies)), pool };
      if (checked !== plan) return packed;
      packedPlans.set(plan, packed);
    }
    recent = packed;
    return packed;
  }

  function readClock(): Instant {
    const nowMs = clock.nowMs();
    const utcOffsetMs = clock.utcOffsetMs(nowMs);
    return lastInstant.nowMs === nowMs && lastInstant.utcOffsetMs === utcOffsetMs
      ? lastInstant
      : nextInstant(nowMs, utcOffsetMs);
  }

  function nextInstant(nowMs: number, utcOffsetMs: number): Instant {
    lastInstant = { nowMs, utcOffsetMs };
    return lastInstant;
  }

  function decideByRule(key: string, packed: PooledPlan, cost: number, now: Instant, isPeek = false): Decision {
    const { plan, pool, shape } = packed;
    checkCost(cost, plan);
    const bucketKey = pool.keyOf(key, now.nowMs);
    const stored = pool.get(bucketKey);
    const { decision, next } = decide(bucketKey, stored ?? pool.sharedState(), plan, cost, now);
    // A key without a state of its own starts with the shared one. If that one refuses the request,
    // it is stored already.
    const isChanged = stored !== undefined || decision.result === 'within_quota';
    if (isChanged && !isPeek) pool.set(bucketKey, next, shape);
    return decision;
  }

  return {
    clock,

    take(key, plan, cost = 1) {
      if (typeof key !== 'string') throw new TypeError('key: expected a string');
      const now = readClock();
      const packed = packedOf(plan);
      return packed.pool.charge(key, packed, cost, now) ?? decideByRule(key, packed, cost, now);
    },

    peek: (key, plan, cost = 1) => decideByRule(key, packedOf(plan), cost, readClock(), true),

    inspect: (key) => keys.get(key),
    restore: (key, state) => keys.set(key, state),
    reset: (key) => keys.set(key, undefined),

    ban(key, ms) {
      checkWholeNumber('ms', ms, 1);
      const { buckets, ban } = keys.get(key) ?? { buckets: [] };
      keys.set(key, { buckets, ban: withBan(ban ?? NO_STRIKES, ms, clock.nowMs()) });
    },

    unban(key) {
      const state = keys.get(key);
      if (state !== undefined) keys.set(key, keyState(state.buckets));
    },
  };
}
