/**
 * Wraps a limiter to count its refusals. The wrapper has the method `take`, so it is a limiter too.
 * The test suite for limiters shows that the wrapper still limits exactly.
 *
 *     node --import tsx --test examples/own-limiter.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, PLANS, type RateLimiter } from 'store-orders/limiter';
import { createManualClock, rateLimiterSuite } from 'store-orders/testing';

function withRefusalCount(limiter: RateLimiter): RateLimiter & { readonly refusals: ReadonlyMap<string, number> } {
  const refusals = new Map<string, number>();
  return {
    refusals,
    async take(key, plan, cost) {
      const decision = await limiter.take(key, plan, cost);
      if (!decision.allowed) refusals.set(plan.name, (refusals.get(plan.name) ?? 0) + 1);
      return decision;
    },
  };
}

const cases = rateLimiterSuite(() => {
  const clock = createManualClock();
  return { limiter: withRefusalCount(createMemoryLimiter({ clock })), advance: clock.advance };
});
for (const { name, run } of cases) test(name, run);

test('the wrapped limiter counts the refused requests of each plan', async () => {
  const limiter = withRefusalCount(createMemoryLimiter());
  for (let n = 0; n < 62; n++) await limiter.take('customer-1', PLANS.free);
  assert.deepEqual([...limiter.refusals], [['free', 2]]);
});
