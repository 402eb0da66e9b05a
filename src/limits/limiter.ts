import type { Plan, QuotaPolicy } from './plan.js';
import type { Bucket } from './token-bucket.js';

/**
 * Counts the requests of each key in token buckets. A request over its quota is not an error:
 * `take` returns a decision that refuses it. If `take` throws or rejects, the limiter has failed,
 * and the client receives a 503.
 */
export interface RateLimiter {
  /**
   * Takes `cost` tokens (default: 1) from every window of `plan`. If the key is banned or a window
   * has too few tokens, takes none. With a cost of 0, only reports the state. Throws a RangeError
   * if the cost is not a whole number, or if it is above a quota, because such a request could
   * never pass.
   */
  take(key: string, plan: Plan, cost?: number): Decision | Promise<Decision>;
}

/**
 * The decision on one request. Instants are whole milliseconds of the limiter's clock. Add
 * `utcOffsetMs` to convert them to Unix time. Some properties can be getters, which a spread
 * (`{ ...decision }`) does not copy. Destructure the decision instead. `JSON.stringify` and
 * `console.log` show all properties.
 */
export interface Decision {
  readonly key: string;
  readonly plan: Plan;
  readonly cost: number;
  /**
   * Whether the request may proceed. The limiters of this package allow it if the result is
   * `within_quota`.
   */
  readonly allowed: boolean;
  /** What the windows and the ban decide. A request takes tokens only if it is `within_quota`. */
  readonly result: 'within_quota' | 'over_quota' | 'banned';
  readonly nowMs: number;
  readonly utcOffsetMs: number;
  /**
   * The time until the request can pass, in milliseconds. It is 0 if the request is within quota. A
   * retry after exactly this time is allowed, if no other request takes tokens in the meantime. An
   * earlier retry is refused.
   */
  readonly retryAfterMs: number;
  /**
   * The state of each window after this request, in the order of the plan's windows. A ban does not
   * change these states.
   */
  readonly windows: readonly WindowState[];
  /**
   * The window whose state is announced to the client. If windows refuse the request, it is the
   * refusing window that resets last. Otherwise it is the window with the least `remaining`, and
   * among equals the one that resets last. If every request costs 1, exactly `remaining` further
   * requests pass.
   *
   * During a ban, `remaining` is 0, and `resetAtMs` is the instant when a request would pass. The
   * window is chosen as if the request came one millisecond before that instant. So every response
   * during a ban announces the same window.
   */
  readonly inForce: WindowState;
}

/** Throws a RangeError unless `cost` is a whole number that every window of the plan can hold. */
export function checkCost(cost: number, plan: Plan): void {
  for (const { name, quota } of plan.policies) {
    if (Number.isInteger(cost) && cost >= 0 && cost <= quota) continue;
    throw new RangeError(`cost: expected a whole number from 0 to ${quota}, the quota per ${name}, not ${cost}`);
  }
}

/** Copies the decision into an object without getters, so that a spread copies every property. */
export function plainDecision(decision: Decision): Decision {
  const { key, plan, cost, allowed, result, nowMs, utcOffsetMs, retryAfterMs, windows, inForce } = decision;
  return { key, plan, cost, allowed, result, nowMs, utcOffsetMs, retryAfterMs, windows, inForce };
}

export interface WindowState {
  readonly policy: QuotaPolicy;
  /** The number of whole tokens left. */
  readonly remaining: number;
  /**
   * The instant when the bucket is full again. If it is full now, the end of a window that begins now,
   * or with continuous refill the present instant.
   */
  readonly resetAtMs: number;
  /**
   * The first instant when more than `remaining` tokens can be taken. With interval refill, this is
   * the same instant as `resetAtMs`.
   */
  readonly refillAtMs: number;
}

/**
 * Everything that a limiter stores about one key, as plain data for JSON. Its format is that of the
 * package's version, and later versions read it.
 */
export interface KeyState {
  readonly buckets: readonly NamedBucket[];
  readonly ban?: BanState;
}

/** The fields that identify a bucket. Policies that differ in one of them have separate buckets. */
export type BucketIdentity = Pick<QuotaPolicy, 'name' | 'windowMs' | 'refill'>;

export interface NamedBucket extends BucketIdentity, Bucket {}

/** The refusals and bans of a key. An instant that is not set is 0. */
export interface BanState {
  /** The instant of the first refusal since the last allowed request or the last ban. */
  readonly refusedAtMs: number;
  /** How many refusals after the first were forgiven (see `BanPolicy.graceMs`). */
  readonly forgiven: number;
  /** The instants of the later refusals that count towards a ban, ascending. */
  readonly strikesAtMs: readonly number[];
  readonly banEndMs: number;
  /** The length of the ban that ends at `banEndMs`. */
  readonly banMs: number;
  /** How many earlier bans still make the next ban longer. */
  readonly level: number;
  readonly forgetAtMs: number;
}
