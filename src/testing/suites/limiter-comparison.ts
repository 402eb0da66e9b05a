import assert from 'node:assert/strict';
import { createMemoryLimiter, createPlan, type Decision, type Plan } from '../../limits/index.js';

export interface LimiterUnderTest {
  take(key: string, plan: Plan, cost?: number): Promise<Decision>;
  advance(ms: number): Promise<unknown>;
  /** Whether the limiter's time stands still between two calls of `advance`. */
  readonly isStill: boolean;
}

const BAN = { after: 3, withinMs: 12, graceMs: 2, baseMs: 8, factor: 3, maxMs: 50, forgetMs: 25 };

/** Plans whose quotas random requests often use up, and whose windows often end. */
const COMPARED_PLANS: readonly Plan[] = [
  createPlan({
    name: 'two',
    policies: [
      { name: 'a', quota: 3, windowMs: 15 },
      { name: 'b', quota: 5, windowMs: 250 },
    ],
    ban: BAN,
  }),
  createPlan({
    name: 'mixed',
    policies: [
      { name: 'a', quota: 5, windowMs: 40 },
      { name: 'c', quota: 4, windowMs: 90, refill: 'continuous' },
      { name: 'd', quota: 6, windowMs: 100, align: 'utc' },
    ],
    ban: { ...BAN, after: 1, graceMs: 0 },
  }),
  createPlan({ name: 'one', policies: [{ name: 'b', quota: 3, windowMs: 250 }], ban: false }),
  createPlan({ name: 'address', policies: [{ name: 'a', quota: 2, windowMs: 60 }], partition: 'address' }),
];

/**
 * Asserts that the limiter decides like the memory limiter in a random sequence of calls. The
 * memory limiter repeats each call at the time of the limiter's decision. So the limiter may have
 * any clock, even one that advances between calls.
 */
export async function assertDecidesAsMemory({ take, advance, isStill }: LimiterUnderTest): Promise<void> {
  const instant = { nowMs: 0, utcOffsetMs: 0 };
  const memory = createMemoryLimiter({ clock: { nowMs: () => instant.nowMs, utcOffsetMs: () => instant.utcOffsetMs } });
  const random = createRandom(1);
  const below = (end: number) => Math.floor(random() * end);
  const requests = isStill ? 5_000 : 500;
  for (let n = 1; n <= requests; n++) {
    if (below(3) === 0) await advance(1 + below(below(20) === 0 ? 120 : 4));
    const number = below(COMPARED_PLANS.length);
    const key = `random ${number}`;
    // In at least 15 of 16 calls, a key has its usual plan. A call that another plan allows clears
    // the key's refusals. If such calls were frequent, the key would seldom be banned.
    const plan = COMPARED_PLANS[below(16) === 0 ? below(COMPARED_PLANS.length) : number] ?? assert.fail();
    const cost = below(5) === 0 ? below(3) : 1;
    const decision = await take(key, plan, cost);
    Object.assign(instant, { nowMs: decision.nowMs, utcOffsetMs: decision.utcOffsetMs });
    assert.deepEqual(
      comparable(decision),
      comparable(memory.take(key, plan, cost)),
      `request ${n}: ${key}, ${plan.name}, cost ${cost}`,
    );
  }
}

function comparable({ cost, allowed, result, nowMs, utcOffsetMs, retryAfterMs, windows, inForce }: Decision) {
  const [announced, ...all] = [inForce, ...windows].map(({ policy, remaining, resetAtMs, refillAtMs }) => {
    return { name: policy.name, remaining, resetAtMs, refillAtMs };
  });
  return { cost, allowed, result, nowMs, utcOffsetMs, retryAfterMs, inForce: announced, windows: all };
}

/** Creates a Mulberry32 generator of numbers in [0, 1), the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
