import fc from 'fast-check';
import { createPlan, type Plan, type PlanOptions } from 'store-orders/limiter';

type Policy = PlanOptions['policies'][number];

// Small numbers, so that edges are reached often: a window's last millisecond, the last token, the
// end of a ban.

const name = fc.constantFrom('a', 'b', 'c');
const quota = fc.integer({ min: 1, max: 6 });
const windowMs = fc.constantFrom(10, 25, 60);

const intervalPolicy: fc.Arbitrary<Policy> = fc.record({
  name,
  quota,
  windowMs,
  align: fc.constantFrom('first', 'utc'),
});

function continuousOf(quota: fc.Arbitrary<number>, windowMs: fc.Arbitrary<number>): fc.Arbitrary<Policy> {
  return fc.record({ name, quota, windowMs, refill: fc.constant('continuous') });
}

/**
 * Policies with continuous refill. One in six has a large quota and window, whose product stays
 * below 2^53, so that it is an exact integer.
 */
const continuousPolicy = fc.oneof(
  { weight: 5, arbitrary: continuousOf(quota, windowMs) },
  { weight: 1, arbitrary: continuousOf(fc.constantFrom(9_007_199, 9_007_198, 3_000_001), fc.constant(1e9)) },
);

export function policies(policy: fc.Arbitrary<Policy>): fc.Arbitrary<Policy[]> {
  return fc.uniqueArray(policy, { selector: (options) => options.name, minLength: 1, maxLength: 3 });
}

const anyPolicies = policies(fc.oneof(intervalPolicy, continuousPolicy));

export const anyBan: fc.Arbitrary<Exclude<Plan['ban'], false>> = fc
  .record({
    after: fc.integer({ min: 1, max: 4 }),
    withinMs: fc.integer({ min: 1, max: 40 }),
    graceMs: fc.constantFrom(0, 1, 4),
    baseMs: fc.integer({ min: 1, max: 12 }),
    factor: fc.integer({ min: 1, max: 3 }),
    addedMs: fc.integer({ min: 0, max: 40 }),
    forgetMs: fc.integer({ min: 0, max: 60 }),
  })
  .map(({ addedMs, ...ban }) => ({ ...ban, maxMs: ban.baseMs + addedMs }));

export const keyPlan: fc.Arbitrary<Plan> = fc
  .record({
    policies: anyPolicies,
    ban: fc.oneof({ weight: 3, arbitrary: anyBan }, { weight: 1, arbitrary: fc.constant(false as const) }),
  })
  .map((options) => createPlan({ name: 'any', ...options }));

export const addressPlan: fc.Arbitrary<Plan> = anyPolicies.map((options) =>
  createPlan({ name: 'any', policies: options, partition: 'address' }),
);

/**
 * Three plans. The first two have one or two interval windows of the same lengths, and different
 * quotas. A memory limiter packs the states of such plans into bytes. The third is any plan.
 */
export const plansToPack: fc.Arbitrary<[Plan, Plan, Plan]> = fc
  .record({
    policies: fc.uniqueArray(intervalPolicy, { selector: (options) => options.name, minLength: 1, maxLength: 2 }),
    more: fc.integer({ min: 0, max: 30 }),
    ban: fc.oneof(anyBan, fc.constant(false as const)),
    other: keyPlan,
  })
  .map(({ policies, more, ban, other }) => [
    createPlan({ name: 'small', policies, ban }),
    createPlan({ name: 'large', policies: policies.map((one) => ({ ...one, quota: one.quota + more })), ban }),
    other,
  ]);

/**
 * How many milliseconds to advance the clock: most often 0 to 3, sometimes up to 2,000. Most
 * windows are at most 60 ms long.
 */
export const forwardMs = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 3 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 40 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2_000 }) },
);

/** How many milliseconds to advance the clock. A few values are negative. */
export const anyMs = fc.oneof(
  { weight: 12, arbitrary: forwardMs },
  { weight: 1, arbitrary: fc.integer({ min: -90, max: -1 }) },
);
