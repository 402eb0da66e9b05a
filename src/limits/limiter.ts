import type { Plan, QuotaPolicy } from './plan.js';

/**
 * Takes tokens from the buckets of a key. Being over quota is a decision, not an error. If a method
 * throws or rejects, the limiter has failed and the client receives a 503. A wrapper of a limiter
 * implements this interface too.
 */
export interface RateLimiter {
  /**
   * Takes `cost` tokens (default 1) from every window of `plan`, or from none if the key is banned
   * or one window has too few. A cost of 0 takes nothing and only reports. Throws a RangeError if
   * the cost is not a whole number, or exceeds a quota and could never pass.
   */
  take(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
}

/**
 * The verdict on one request. Instants are whole milliseconds of the limiter's clock; add
 * `utcOffsetMs` for Unix time. Some properties may be computed on access, and a spread does not
 * copy those. Destructure the decision instead. `JSON.stringify` and `console.log` show all
 * properties.
 */
export interface Decision {
  readonly key: string;
  readonly plan: Plan;
  readonly cost: number;
  /** Whether the request may proceed. Always true in shadow mode. */
  readonly allowed: boolean;
  /**
   * The verdict of the windows and the ban, even in shadow mode. Only a request `within_quota` was
   * charged.
   */
  readonly verdict: 'within_quota' | 'over_quota' | 'banned';
  readonly nowMs: number;
  readonly utcOffsetMs: number;
  /**
   * How long to wait, in milliseconds: 0 when within quota. A retry at any earlier instant is
   * refused, and one after exactly this wait passes.
   */
  readonly retryAfterMs: number;
  /**
   * Every window of the plan after this request, in the plan's order. A ban does not change them.
   */
  readonly windows: readonly WindowState[];
  /**
   * The window to announce, one of `windows`. If windows refuse the request, it is the refusing
   * window that resets last. Otherwise it is the window with the least remaining, or on a tie the
   * one that resets last. If every request costs 1, the number of further requests that pass is
   * exactly its `remaining`.
   *
   * During a ban, `remaining` is 0, and `resetAtMs` is the instant when a request would pass. The
   * window is the one that would be in force a millisecond before that instant, so every response
   * during a ban announces the same window.
   */
  readonly inForce: WindowState;
}

/** Copies the decision into a plain object, of which a spread copies every property. */
export function plainDecision(decision: Decision): Decision {
  const { key, plan, cost, allowed, verdict, nowMs, utcOffsetMs, retryAfterMs, windows, inForce } = decision;
  return { key, plan, cost, allowed, verdict, nowMs, utcOffsetMs, retryAfterMs, windows, inForce };
}

export interface WindowState {
  readonly policy: QuotaPolicy;
  /** Whole tokens left. */
  readonly remaining: number;
  /** The instant when the bucket is full again. */
  readonly resetAtMs: number;
  /**
   * The first instant when more than `remaining` can be taken. With interval refill, it is
   * `resetAtMs`.
   */
  readonly refillAtMs: number;
}

/** The whole state that a limiter keeps of one key. Plain data that survives JSON. */
export interface KeyState {
  readonly buckets: readonly NamedBucket[];
  readonly ban?: BanState;
}

/**
 * A bucket, identified by its policy's name, window and kind of refill. Policies that differ in one
 * of these have separate buckets.
 */
export interface NamedBucket {
  readonly name: string;
  readonly windowMs: number;
  readonly refill: QuotaPolicy['refill'];
  /** See `Bucket` in token-bucket.ts. */
  readonly taken: number;
  readonly atMs: number;
}

/** The refusals and bans of a key. An instant of 0 means "not set". */
export interface BanState {
  /**
   * The instant of the first refusal in the current streak. The next allowed request ends the
   * streak.
   */
  readonly refusedAtMs: number;
  /** How many further refusals of the streak were forgiven (see `BanPolicy.graceMs`). */
  readonly forgiven: number;
  /**
   * The instants of the streak's strikes that still count, ascending. There are fewer than the
   * plan's `ban.after`.
   */
  readonly strikesAtMs: readonly number[];
  readonly banEndMs: number;
  /** The length of the ban that ends at `banEndMs`. */
  readonly banMs: number;
  /** How many bans still count towards the length of the next one. */
  readonly level: number;
  readonly forgetAtMs: number;
}
