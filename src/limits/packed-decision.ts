import { type Decision, plainDecision, type WindowState } from './limiter.js';
import type { PackedPlan } from './packed-plan.js';
import type { Plan, QuotaPolicy } from './plan.js';
import { lesser } from './rule.js';
import type { Instant } from './token-bucket.js';

/**
 * The decision on a request that passed, of a plan of one or two windows. One is made for every request, and 32 bytes of
 * it cost 3 %: so it has only what it must, in integers so small that V8 needs no box for them, shares the instant with
 * others of the same millisecond, and computes the rest for who reads it.
 */
export class PackedDecision implements Decision {
  readonly key: string;
  readonly cost: number;
  readonly #packed: PackedPlan;
  readonly #instant: Instant;
  readonly #firstTaken: number;
  readonly #firstLeftMs: number;
  readonly #secondTaken: number;
  readonly #secondLeftMs: number;
  #windows: readonly [WindowState] | readonly [WindowState, WindowState] | undefined;

  constructor(
    key: string,
    cost: number,
    packed: PackedPlan,
    instant: Instant,
    firstTaken: number,
    firstLeftMs: number,
    secondTaken: number,
    secondLeftMs: number,
  ) {
    this.key = key;
    this.cost = cost;
    this.#packed = packed;
    this.#instant = instant;
    this.#firstTaken = firstTaken;
    this.#firstLeftMs = firstLeftMs;
    this.#secondTaken = secondTaken;
    this.#secondLeftMs = secondLeftMs;
  }

  get plan(): Plan {
    return this.#packed.plan;
  }

  get allowed(): boolean {
    return true;
  }

  get verdict(): Decision['verdict'] {
    return 'within_quota';
  }

  get nowMs(): number {
    return this.#instant.nowMs;
  }

  get utcOffsetMs(): number {
    return this.#instant.utcOffsetMs;
  }

  get retryAfterMs(): number {
    return 0;
  }

  get windows(): readonly [WindowState] | readonly [WindowState, WindowState] {
    if (this.#windows !== undefined) return this.#windows;
    const { nowMs } = this.#instant;
    const { first, second } = this.#packed;
    const one = windowOf(first, this.#firstTaken, nowMs + this.#firstLeftMs);
    this.#windows =
      second === undefined ? [one] : [one, windowOf(second, this.#secondTaken, nowMs + this.#secondLeftMs)];
    return this.#windows;
  }

  get inForce(): WindowState {
    const [first, second] = this.windows;
    return second === undefined ? first : lesser(first, second);
  }

  /** All of a decision, for who prints it. */
  toJSON(): Decision {
    return plainDecision(this);
  }
}

function windowOf(policy: QuotaPolicy, taken: number, resetAtMs: number): WindowState {
  return { policy, remaining: policy.quota - taken, resetAtMs };
}
