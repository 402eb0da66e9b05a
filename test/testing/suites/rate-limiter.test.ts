import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, type MemoryLimiter, type Plan, type RateLimiter } from 'store-orders/limiter';
import { createManualClock, rateLimiterSuite } from 'store-orders/testing';
import { plainDecision } from '../../../dist/limits/limiter.js';
import { assertFail, failures } from '../support/failures.js';

type Break = (limiter: MemoryLimiter) => RateLimiter['take'];

/** Decides on every n-th request as if its plan were another one. */
const changingPlans =
  (change: (plan: Plan) => Plan, every = 1): Break =>
  (limiter) => {
    let requests = 0;
    return (key, plan, cost) => {
      const isChanged = ++requests % every === 0;
      return { ...plainDecision(limiter.take(key, isChanged ? change(plan) : plan, cost)), plan };
    };
  };

/** Values of the options of bans that no plan of the suite has. */
const OTHER_BAN = { after: 9, withinMs: 9_000, graceMs: 5, baseMs: 9, factor: 1, maxMs: 9_000, forgetMs: 9_000 };

const changingKeys =
  (change: (key: string) => string): Break =>
  (limiter) =>
  (key, ...rest) =>
    limiter.take(change(key), ...rest);

/**
 * Broken limiters, each with the case of the suite that must fail. `promises/testing/objections`
 * shows what each case says of wrong decisions. These mistakes are others.
 */
const BROKEN: Readonly<Record<string, readonly [RegExp, Break]>> = {
  'lets other requests run between reading and charging a quota': [
    /^allows exactly `remaining` further requests/,
    (limiter) => async (key, plan, cost) => {
      const decision = limiter.peek(key, plan, cost);
      await Promise.resolve();
      if (decision.allowed) limiter.take(key, plan, cost);
      return decision;
    },
  ],
  'takes no notice of the case of keys': [/^counts every key separately/, changingKeys((key) => key.toLowerCase())],
  'takes no notice of spaces around keys': [/^counts every key separately/, changingKeys((key) => key.trim())],
  'counts an address and a key of the same name together': [
    /^counts a key and an address/,
    changingPlans((plan) => ({ ...plan, partition: 'key' })),
  ],
  'bans although the plan has no bans': [
    /^never bans an address/,
    changingPlans((plan) => createPlan({ ...plan, partition: 'key', ban: { after: 1, graceMs: 0 } })),
  ],
};

function testBroken(how: string, expected: RegExp, breaks: Break): void {
  test(`the rate limiter suite fails for a limiter that ${how}`, () => {
    const open = () => {
      const clock = createManualClock();
      return { limiter: { take: breaks(createMemoryLimiter({ clock })) }, advance: clock.advance };
    };
    return assertFail(rateLimiterSuite(open), expected);
  });
}

for (const [how, [expected, breaks]] of Object.entries(BROKEN)) testBroken(how, expected, breaks);

for (const wrong of [3, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
  testBroken(
    `allows a request whose cost is ${wrong}`,
    /^throws a RangeError/,
    (limiter) => (key, plan, cost) => limiter.take(key, plan, Object.is(cost, wrong) ? 0 : cost),
  );
}

for (const [option, value] of Object.entries(OTHER_BAN)) {
  const change = (plan: Plan) => (plan.ban === false ? plan : { ...plan, ban: { ...plan.ban, [option]: value } });
  testBroken(`ignores ${option} of bans in one of ten requests`, /^decides as the memory/, changingPlans(change, 10));
}

test('the rate limiter suite closes every limiter that it has opened, even after a failure', async () => {
  let opened = 0;
  const cases = rateLimiterSuite(() => {
    opened++;
    const take = () => {
      throw new Error('no connection');
    };
    return { limiter: { take }, close: () => opened-- };
  });
  assert.ok((await failures(cases)).length > 0);
  assert.equal(opened, 0);
});
