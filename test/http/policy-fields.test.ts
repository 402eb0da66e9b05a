import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLANS } from 'store-orders/limiter';
import { createTestService } from 'store-orders/testing';

test('the policy for addresses and the policies for keys have different names', async () => {
  const { url, fetch, apiKey } = createTestService();
  const policyOf = async (headers: Record<string, string>) =>
    (await fetch(`${url}/store/orders`, { headers })).headers.get('RateLimit-Policy');
  assert.equal(await policyOf({}), '"address-minute";q=600;w=60');
  assert.equal(await policyOf({ Authorization: `Bearer ${apiKey}` }), '"minute";q=60;w=60, "day";q=1000;w=86400');
});

test('if the quota of a plan is changed in place, the next response announces the new quota', async () => {
  const plan = structuredClone(PLANS.free);
  const { url, fetch, apiKey } = createTestService({ plan });
  const quotas = async () => {
    const { headers } = await fetch(`${url}/store/orders`, { headers: { Authorization: `Bearer ${apiKey}` } });
    return [headers.get('X-RateLimit-Limit'), headers.get('RateLimit-Policy')?.split(',')[0]];
  };
  assert.deepEqual(await quotas(), ['60', '"minute";q=60;w=60']);
  Object.assign(plan.policies[0] ?? {}, { quota: 5 });
  assert.deepEqual(await quotas(), ['5', '"minute";q=5;w=60']);
});
