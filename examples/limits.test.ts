/**
 * Shows how to create plans of your own: with agreed quotas, with other windows and with other ban
 * policies. And how to try limits out before they refuse anyone.
 *
 *     node --import tsx --test examples/limits.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryOrderStore, createOrderService } from 'store-orders';
import {
  createMemoryLimiter,
  createPlan,
  type Decision,
  PLANS,
  perDay,
  perMinute,
  type RateLimiter,
} from 'store-orders/limiter';
import { createTestService } from 'store-orders/testing';

const answers = async (plan: ReturnType<typeof createPlan>, requests: number): Promise<number[]> => {
  const { url, fetch, issueKey } = createTestService();
  const headers = { Authorization: `Bearer ${issueKey(plan)}` };
  const responses = Array.from({ length: requests }, () => fetch(`${url}/store/orders`, { headers }));
  return (await Promise.all(responses)).map(({ status }) => status);
};

test('an Enterprise plan can have quotas of its own per minute and per day', async () => {
  const plan = createPlan({ name: 'enterprise', policies: [perMinute(2), perDay(500_000)] });
  assert.deepEqual(await answers(plan, 3), [200, 200, 429]);
});

test('a quota policy can have a window of ten seconds, and can restore its quota gradually', async () => {
  const burst = { name: 'burst', quota: 2, windowMs: 10_000, refill: 'continuous' } as const;
  assert.deepEqual(await answers(createPlan({ name: 'smooth', policies: [burst, perDay(1_000)] }), 3), [200, 200, 429]);
});

test('a plan can ban an API key after the first refused request', async () => {
  const plan = createPlan({ name: 'strict', policies: [perMinute(1)], ban: { after: 1, graceMs: 0, baseMs: 5_000 } });
  const { url, fetch, issueKey, clock } = createTestService();
  const headers = { Authorization: `Bearer ${issueKey(plan)}` };
  const ask = async () => (await fetch(`${url}/store/orders`, { headers })).text();
  await ask();
  assert.match(await ask(), /rate_limit_exceeded/);
  clock.advance(1);
  assert.match(await ask(), /api_key_banned/);
});

/** Counts like `limiter` and reports what it would refuse, but refuses nothing. */
function onTrial(limiter: RateLimiter, report: (refusal: Decision) => void): RateLimiter {
  return {
    async take(key, plan, cost) {
      const decision = await limiter.take(key, plan, cost);
      if (!decision.allowed) report(decision);
      return Object.create(decision, { allowed: { value: true } });
    },
  };
}

test('limits on trial report which keys they would refuse and why, and every request passes', async () => {
  const reported: string[] = [];
  const service = createOrderService({
    store: createMemoryOrderStore(),
    limiter: onTrial(createMemoryLimiter(), ({ key, result }) => reported.push(`${key} ${result}`)),
    authenticate: () => ({ id: 'customer-1', plan: PLANS.free }),
  });
  const rawHeaders = ['Authorization', 'Bearer sesame'];
  for (let n = 0; n < 61; n++) {
    const { status } = await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders });
    assert.equal(status, 200);
  }
  assert.deepEqual(reported, ['customer-1 over_quota']);
});
