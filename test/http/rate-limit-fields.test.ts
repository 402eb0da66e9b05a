import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan, type Plan, type PlanOptions, perDay, perMinute } from 'store-orders';
import { createMemoryLimiter, PLANS } from 'store-orders/limiter';
import { parseList } from 'structured-headers';
import { createAnswer, rateLimitOf } from './support/answer.js';
import { bearer, createShop, ORDERS, type Shop } from './support/shop.js';

const DAY = 86_400;
const LARGEST = 999_999_999_999_999;

function planOf(...policies: PlanOptions['policies']): Plan {
  return createPlan({ name: 'custom', policies, ban: false });
}

function shopWith(plan: Plan, draftFields?: boolean): Shop {
  return createShop({ authenticate: () => ({ id: 'owner', plan }), draftFields });
}

async function ask({ service }: Shop, fields = bearer('any')) {
  const { status, headers } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders: fields });
  const answer = createAnswer(status, headers, '');
  const { limit, remaining, reset } = rateLimitOf(answer);
  return {
    status,
    names: [...answer.fields.keys()],
    xRateLimit: [limit, remaining, reset],
    policies: read(answer.fields.get('ratelimit-policy')),
    windows: read(answer.fields.get('ratelimit')),
    retryAfter: Number(answer.fields.get('retry-after')),
  };
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

/** Returns the clock's time in seconds, the unit of the header fields. */
const secondsOf = ({ clock }: Shop) => clock.nowMs() / 1_000;

test('RateLimit-Policy lists every quota, RateLimit lists what remains of each, both as structured fields, and X-RateLimit-* show the least', async () => {
  const shop = shopWith(planOf(perMinute(60), perDay(40)));
  const first = await ask(shop);
  assert.deepEqual(first.policies, { minute: { q: 60, w: 60 }, day: { q: 40, w: DAY } });
  assert.deepEqual(first.windows, { minute: { r: 59, t: 60 }, day: { r: 39, t: DAY } });
  assert.deepEqual(first.xRateLimit, [40, 39, secondsOf(shop) + DAY]);
  shop.clock.advance(1_001);
  assert.deepEqual((await ask(shop)).windows, { minute: { r: 58, t: 59 }, day: { r: 38, t: DAY - 1 } });
});

test('RateLimit and RateLimit-Policy can describe any plan, for example with three windows, unusual names or the largest numbers', async () => {
  for (const plan of [
    planOf({ name: 'a', quota: 1, windowMs: 1 }),
    planOf({ name: 'Burst_1.x-y', quota: LARGEST, windowMs: LARGEST }),
    planOf(perMinute(3), perDay(4), { name: 'hour', quota: 9, windowMs: 3_600_001 }),
    planOf({ name: 'utc', quota: 7, windowMs: 86_400_000, align: 'utc' }),
  ]) {
    const { policies, windows } = await ask(shopWith(plan));
    for (const { name, quota, windowMs } of plan.policies) {
      const w = Math.ceil(windowMs / 1_000);
      assert.deepEqual(policies[name], { q: quota, w });
      const { r, t } = windows[name] ?? {};
      assert.ok(r === quota - 1 && Number(t) >= 1 && Number(t) <= w, `${r} in ${t}`);
    }
    assert.equal(Object.keys(policies).length, plan.policies.length);
  }
});

test("X-RateLimit-Reset is the reset time on the limiter's clock plus that clock's offset from UTC, rounded up to whole seconds", async () => {
  const limiter = createMemoryLimiter({ clock: { nowMs: () => 5_001, utcOffsetMs: () => 1_000_000 } });
  const authenticate = () => ({ id: 'owner', plan: planOf(perMinute(2)) });
  for (const draftFields of [true, false]) {
    const shop = createShop({ limiter, draftFields, authenticate });
    assert.equal((await ask(shop)).xRateLimit[2], 1_066, '5.001 s + 60 s + 1,000 s');
  }
});

test("a refusal by the host's own limiter that names no wait has Retry-After: 1", async () => {
  const limiter = createMemoryLimiter();
  const shop = createShop({ limiter: { take: (...args) => ({ ...limiter.peek(...args), allowed: false }) } });
  const { status, retryAfter } = await ask(shop, bearer('free-key'));
  assert.deepEqual([status, retryAfter], [429, 1]);
});

test('with draftFields: false, responses lack RateLimit and RateLimit-Policy, but no other field', async () => {
  const plan = planOf(perMinute(2));
  const { names } = await ask(shopWith(plan));
  const expected = names.filter((name) => !['ratelimit', 'ratelimit-policy'].includes(name));
  assert.deepEqual((await ask(shopWith(plan, false))).names, expected);
});

test('the policy for addresses and the policies for keys have different names', async () => {
  assert.deepEqual((await ask(createShop(), bearer('unknown'))).policies, { 'address-minute': { q: 600, w: 60 } });
  assert.deepEqual(Object.keys((await ask(createShop(), bearer('free-key'))).policies), ['minute', 'day']);
});

test('during a ban, X-RateLimit-* stay the same, and RateLimit reports the tokens that are left in each window', async () => {
  const shop = shopWith(PLANS.free);
  for (let n = 0; n < 60; n++) assert.equal((await ask(shop)).status, 200);
  assert.equal((await ask(shop)).status, 429);
  shop.clock.advance(3_000);
  for (let n = 0; n < 19; n++) assert.deepEqual((await ask(shop)).xRateLimit, [60, 0, secondsOf(shop) + 57]);

  const passesAt = secondsOf(shop) + 60;
  for (let left = 60; left > 0; left--) {
    const { status, retryAfter, xRateLimit, windows } = await ask(shop);
    assert.deepEqual([status, retryAfter, xRateLimit], [429, left, [60, 0, passesAt]]);
    const minute = left > 3 ? { r: 0, t: left - 3 } : { r: 60, t: 60 };
    assert.deepEqual(windows, { minute, day: { r: 940, t: DAY - 63 + left } });
    shop.clock.advance(1_000);
  }
  assert.equal((await ask(shop)).status, 200);
});

test('with continuous refill, RateLimit announces when the next token comes back, and X-RateLimit-Reset when all tokens are back', async () => {
  const shop = shopWith(planOf({ name: 'trickle', quota: 4, windowMs: 80_000, refill: 'continuous' }));
  const startsAt = secondsOf(shop);
  for (const [afterS, status, r, t, resetsAfter] of [
    [0, 200, 3, 20, 20],
    [15, 200, 2, 5, 40],
    [0, 200, 1, 5, 60],
    [0, 200, 0, 5, 80],
    [0, 429, 0, 5, 80],
    [5, 200, 0, 20, 100],
  ] as const) {
    shop.clock.advance(afterS * 1_000);
    const answer = await ask(shop);
    assert.deepEqual([answer.status, answer.windows], [status, { trickle: { r, t } }]);
    assert.deepEqual(answer.xRateLimit, [4, r, startsAt + resetsAfter]);
    if (status === 429) assert.equal(answer.retryAfter, t);
  }
});
