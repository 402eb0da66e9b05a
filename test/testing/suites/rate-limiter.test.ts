import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createMemoryLimiter,
  createPlan,
  type Decision,
  type MemoryLimiter,
  type RateLimiter,
} from 'store-orders/limiter';
import { createManualClock, rateLimiterSuite } from 'store-orders/testing';
import { plainDecision } from '../../../dist/limits/limiter.js';
import { assertFails, failures } from '../support/failures.js';

type Break = (limiter: MemoryLimiter) => RateLimiter['take'];

const changed =
  (change: (decision: Decision) => Partial<Decision>): Break =>
  (limiter) =>
  (...request) => {
    const decision = limiter.take(...request);
    return { ...plainDecision(decision), ...change(decision) };
  };

/** Broken limiters, each with the case of the suite that must fail. */
const BROKEN: Readonly<Record<string, readonly [RegExp, Break]>> = {
  'charges one window although another window refuses the request': [
    /^takes a token from every window or from none/,
    (limiter) => (key, plan, cost) => {
      const decisions = plan.policies.map((policy) =>
        limiter.take(key, createPlan({ ...plan, policies: [policy] }), cost),
      );
      const last = decisions.find(({ allowed }) => !allowed) ?? decisions[0] ?? assert.fail();
      return { ...last, plan, windows: decisions.map(({ inForce }) => inForce) };
    },
  ],
  'announces a wait that is 1 ms too short': [
    /^refuses at every instant/,
    changed(({ retryAfterMs }) => ({ retryAfterMs: Math.max(0, retryAfterMs - 1) })),
  ],
  'changes the reset time with every request': [
    /^keeps the reset time constant/,
    changed(({ windows, inForce, nowMs }) => {
      const moved = windows.map((window) => ({ ...window, resetAtMs: nowMs + window.policy.windowMs }));
      return { windows: moved, inForce: moved[windows.indexOf(inForce)] ?? inForce };
    }),
  ],
  'lets other requests run between reading and charging a quota': [
    /^allows exactly `remaining` further requests/,
    (limiter) => async (key, plan, cost) => {
      const decision = limiter.peek(key, plan, cost);
      await Promise.resolve();
      if (decision.allowed) limiter.take(key, plan, cost);
      return decision;
    },
  ],
  'forgets its keys if there are more than five': [
    /^counts every key separately/,
    (limiter) => {
      const keys = new Set<string>();
      return (key, plan, cost) => {
        if (keys.add(key).size > 5) for (const other of keys) limiter.reset(other);
        return limiter.take(key, plan, cost);
      };
    },
  ],
  'counts an address and a key of the same name together': [
    /^counts a key and an address/,
    (limiter) => (key, plan, cost) => {
      const decision = limiter.take(key, plan.partition === 'key' ? plan : { ...plan, partition: 'key' }, cost);
      return { ...plainDecision(decision), plan };
    },
  ],
  'allows a request whose cost exceeds the quota': [
    /^throws a RangeError/,
    (limiter) =>
      (key, plan, cost = 1) =>
        limiter.take(key, plan, Math.min(cost, ...plan.policies.map(({ quota }) => quota))),
  ],
  'never bans': [
    /^bans a key that keeps sending/,
    (limiter) => (key, plan, cost) => ({ ...plainDecision(limiter.take(key, { ...plan, ban: false }, cost)), plan }),
  ],
  'prolongs a ban at each request': [
    /^bans a key that keeps sending/,
    (limiter) => (key, plan, cost) => {
      const decision = limiter.take(key, plan, cost);
      if (decision.verdict === 'banned') limiter.ban(key, 900);
      return limiter.peek(key, plan, cost);
    },
  ],
  'ignores the grace period of bans in one of 50 requests': [
    /^decides as the memory limiter/,
    (limiter) => {
      let requests = 0;
      return (key, plan, cost) => {
        const isHasty = ++requests % 50 === 0 && plan.ban !== false;
        const taken = limiter.take(key, isHasty ? { ...plan, ban: { ...plan.ban, graceMs: 0 } } : plan, cost);
        return { ...plainDecision(taken), plan };
      };
    },
  ],
};

for (const [how, [expected, breaks]] of Object.entries(BROKEN)) {
  test(`the rate limiter suite fails for a limiter that ${how}`, () => {
    const open = () => {
      const clock = createManualClock();
      return { limiter: { take: breaks(createMemoryLimiter({ clock })) }, advance: clock.advance };
    };
    return assertFails(rateLimiterSuite(open), expected);
  });
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
