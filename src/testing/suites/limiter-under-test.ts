import type { Decision, Plan } from '../../limits/index.js';

/** The limiter that a test case calls. */
export interface LimiterUnderTest {
  take(key: string, plan: Plan, cost?: number): Promise<Decision>;
  advance(ms: number): Promise<unknown>;
  /** Whether the limiter's time stands still between two calls of `advance`. */
  readonly isStill: boolean;
}
