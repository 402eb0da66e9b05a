import type { Plan, QuotaPolicy } from './plan.js';

/**
 * Takes tokens from the buckets of a key. What wraps a limiter is a limiter. Being over quota is a decision; a throw or
 * a rejection means that the limiter failed, and the client is told 503.
 */
export interface RateLimiter {
  /**
   * Takes `cost` tokens (default 1) from every window of `plan`, or from none if one of them has fewer or the key is
   * banned. A cost of 0 takes nothing and only reports. Throws a RangeError for a cost that is above a quota, which
   * could never pass, and for one that is no whole number.
   */
  take(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
}

/**
 * The verdict on one request. Instants are whole milliseconds of the limiter's clock, `utcOffsetMs` short of Unix time.
 * Properties may be computed when they are read, so that a spread copies only some of them. Destructure a decision
 * instead; as JSON and on a console it is whole.
 */
export interface Decision {
  readonly key: string;
  readonly plan: Plan;
  readonly cost: number;
  /** Whether the request may go on. In shadow mode always. */
  readonly allowed: boolean;
  /** What the windows and the ban said. Only `within_quota` was charged. */
  readonly verdict: 'within_quota' | 'over_quota' | 'banned';
  readonly nowMs: number;
  readonly utcOffsetMs: number;
  /** A request is refused at every instant before `nowMs + retryAfterMs` and not at that one. 0 when within quota. */
  readonly retryAfterMs: number;
  /** Every window of the plan, in the plan's order, after this request. A ban does not change them. */
  readonly windows: readonly WindowState[];
  /**
   * The window to announce, one of `windows`: of those that refuse the last to reset, else the one with the least
   * remaining, on a tie the last to reset. When all cost 1, exactly its `remaining` more requests pass.
   *
   * During a ban nothing remains of it, and it resets when a request would pass. It is the window that would be in
   * force in the last millisecond of that wait, so that every answer of a ban announces the same.
   */
  readonly inForce: WindowState;
}

/** The decision as a plain object, which a spread copies whole. */
export function plainDecision(decision: Decision): Decision {
  const { key, plan, cost, allowed, verdict, nowMs, utcOffsetMs, retryAfterMs, windows, inForce } = decision;
  return { key, plan, cost, allowed, verdict, nowMs, utcOffsetMs, retryAfterMs, windows, inForce };
}

export interface WindowState {
  readonly policy: QuotaPolicy;
  /** Whole tokens. */
  readonly remaining: number;
  /** The instant at which the bucket is full again. */
  readonly resetAtMs: number;
  /** The instant at which more can be taken than `remaining`: with interval refill, `resetAtMs`. */
  readonly refillAtMs: number;
}

/** All that is remembered of one key. Plain data: it survives JSON. */
export interface KeyState {
  readonly buckets: readonly NamedBucket[];
  readonly ban?: BanState;
}

/** A bucket belongs to a name, a window and a kind of refill; a policy that differs in one of them has a bucket of its own. */
export interface NamedBucket {
  readonly name: string;
  readonly windowMs: number;
  readonly refill: QuotaPolicy['refill'];
  /** See `Bucket` in token-bucket.ts. */
  readonly taken: number;
  readonly atMs: number;
}

/** What is remembered of a key's refusals and bans. An instant of 0 is none. */
export interface BanState {
  /** The first refusal of the streak, which the next request that passes ends. */
  readonly refusedAtMs: number;
  /** Further refusals of the streak that the grace has forgiven. */
  readonly forgiven: number;
  /** The strikes of the streak that still count: ascending, fewer than the plan's `ban.after`. */
  readonly strikesAtMs: readonly number[];
  readonly banEndMs: number;
  /** The length of that ban. */
  readonly banMs: number;
  /** How many bans are not forgotten yet. */
  readonly level: number;
  readonly forgetAtMs: number;
}
