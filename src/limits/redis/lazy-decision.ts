import { type Decision, plainDecision, type WindowState } from '../limiter.js';
import type { Plan } from '../plan.js';
import { lesser, windowState } from '../rule.js';

/**
 * A decision that allows a request. A property is computed from the server's reply when it is read,
 * so a property that is never read costs nothing. memory/packed-decision.ts does the same.
 */
export class PassedDecision implements Decision {
  readonly key: string;
  readonly plan: Plan;
  readonly cost: number;
  readonly utcOffsetMs: number;
  readonly #numbers: readonly number[];
  #windows: readonly WindowState[] | undefined;

  /** `numbers` has the form of `Passed.numbers` in codec.ts. */
  constructor(key: string, plan: Plan, cost: number, utcOffsetMs: number, numbers: readonly number[]) {
    this.key = key;
    this.plan = plan;
    this.cost = cost;
    this.utcOffsetMs = utcOffsetMs;
    this.#numbers = numbers;
  }

  get allowed(): boolean {
    return true;
  }

  get verdict(): Decision['verdict'] {
    return 'within_quota';
  }

  get nowMs(): number {
    return this.#at(0);
  }

  get retryAfterMs(): number {
    return 0;
  }

  get windows(): readonly WindowState[] {
    this.#windows ??= this.plan.policies.map((policy, index) => {
      const bucket = { taken: this.#at(2 * index + 1), atMs: this.nowMs + this.#at(2 * index + 2) };
      return windowState(policy, bucket);
    });
    return this.#windows;
  }

  get inForce(): WindowState {
    return this.windows.reduce(lesser);
  }

  #at(index: number): number {
    return this.#numbers[index] ?? 0;
  }

  toJSON(): Decision {
    return plainDecision(this);
  }

  [Symbol.for('nodejs.util.inspect.custom')](): Decision {
    return plainDecision(this);
  }
}
