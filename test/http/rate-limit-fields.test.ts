import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan, type Plan, type PlanOptions, perDay, perMinute } from 'store-orders';
import { PLANS } from 'store-orders/limiter';
import { createTestService } from 'store-orders/testing';
import { parseList } from 'structured-headers';
import { createAnswer, rateLimitOf } from './support/answer.js';
import { bearer, createShop, ORDERS, type Shop } from './support/shop.js';

function planOf(...policies: PlanOptions['policies']): Plan {
  return createPlan({ name: 'custom', policies, ban: false });
}

function shopWith(plan: Plan, draftFields?: boolean): Shop {
  return createShop({ authenticate: () => ({ id: 'owner', plan }), draftFields });
}

async function ask({ service }: Shop) {
  const { status, headers, body } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders: bearer('any') });
  return createAnswer(status, headers, String(body));
}

/**
 * Parses a list of strings with integer parameters (RFC 9651). The parser comes from a package, not
 * from this project.
 */
function read(field: string | undefined): Record<string, Record<string, unknown>> {
  const items = parseList(field ?? '').map(([name, parameters]) => {
    assert.equal(typeof name, 'string', 'a structured-fields string');
    for (const value of parameters.values()) assert.ok(Number.isInteger(value), 'an integer');
    return [name, Object.fromEntries(parameters)];
  });
  return Object.fromEntries(items);
}

test('RateLimit-Policy lists every quota, and RateLimit lists what remains of each, both as structured fields', async () => {
  const shop = shopWith(planOf(perMinute(60), perDay(1_000)));
  const first = await ask(shop);
  assert.deepEqual(read(first.fields.get('ratelimit-policy')), {
    minute: { q: 60, w: 60 },
    day: { q: 1_000, w: 86_400 },
  });
  assert.deepEqual(read(first.fields.get('ratelimit')), { minute: { r: 59, t: 60 }, day: { r: 999, t: 86_400 } });
  shop.clock.advance(1_001);
  const second = await ask(shop);
  assert.deepEqual(read(second.fields.get('ratelimit')), { minute: { r: 58, t: 59 }, day: { r: 998, t: 86_399 } });
});

test('RateLimit and RateLimit-Policy can describe any plan, for example with three windows, unusual names or the largest numbers', async () => {
  const largest = 999_999_999_999_999;
  const plans = [
    planOf({ name: 'a', quota: 1, windowMs: 1 }),
    planOf({ name: 'Burst_1.x-y', quota: largest, windowMs: largest }),
    planOf(perMinute(3), perDay(4), { name: 'hour', quota: 9, windowMs: 3_600_001 }),
    planOf({ name: 'trickle', quota: 7, windowMs: 10_000, refill: 'continuous' }),
    planOf({ name: 'utc', quota: 7, windowMs: 86_400_000, align: 'utc' }),
  ];
  for (const plan of plans) {
    const { fields } = await ask(shopWith(plan));
    const expected = plan.policies.map(({ name, quota, windowMs }) => [
      name,
      { q: quota, w: Math.ceil(windowMs / 1_000) },
    ]);
    assert.deepEqual(read(fields.get('ratelimit-policy')), Object.fromEntries(expected));
    for (const { name, quota, windowMs } of plan.policies) {
      const item = read(fields.get('ratelimit'))[name];
      assert.equal(item?.['r'], quota - 1);
      assert.ok(Number(item?.['t']) >= 1 && Number(item?.['t']) <= Math.ceil(windowMs / 1_000));
    }
  }
});

test('X-RateLimit-* report the window with the least remaining, and on a tie the one that resets later', async () => {
  const dayS = 86_400;
  const rows: [
    minute: number,
    day: number,
    requests: number,
    xRateLimit: { limit: number; remaining: number; reset: number },
  ][] = [
    [3, 10, 1, { limit: 3, remaining: 2, reset: 60 }],
    [10, 3, 1, { limit: 3, remaining: 2, reset: dayS }],
    [3, 3, 1, { limit: 3, remaining: 2, reset: dayS }],
    [1, 1, 2, { limit: 1, remaining: 0, reset: dayS }],
  ];
  for (const [minute, day, requests, { limit, remaining, reset }] of rows) {
    for (const policies of [
      [perMinute(minute), perDay(day)],
      [perDay(day), perMinute(minute)],
    ]) {
      const shop = shopWith(planOf(...policies));
      for (let sent = 1; sent < requests; sent++) await ask(shop);
      const answer = await ask(shop);
      assert.deepEqual(rateLimitOf(answer), { limit, remaining, reset: shop.clock.nowMs() / 1_000 + reset });
      if (requests > 1) assert.deepEqual([answer.status, answer.fields.get('retry-after')], [429, `${dayS}`]);
    }
  }
});

test("X-RateLimit-Reset is the reset time on the limiter's clock plus that clock's offset from UTC, rounded up to whole seconds", async () => {
  const { createMemoryLimiter } = await import('store-orders/limiter');
  const limiter = createMemoryLimiter({ clock: { nowMs: () => 5_001, utcOffsetMs: () => 1_000_000 } });
  const shop = createShop({ limiter, authenticate: () => ({ id: 'owner', plan: planOf(perMinute(2)) }) });
  assert.equal(rateLimitOf(await ask(shop)).reset, Math.ceil((5_001 + 60_000 + 1_000_000) / 1_000));
});

test('with draftFields: false, responses lack RateLimit and RateLimit-Policy, but no other field', async () => {
  const plan = planOf(perMinute(2));
  const names = async (shop: Shop) => [...(await ask(shop)).fields.keys()];
  const expected = (await names(shopWith(plan))).filter((name) => !['ratelimit', 'ratelimit-policy'].includes(name));
  assert.deepEqual(await names(shopWith(plan, false)), expected);
});

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
