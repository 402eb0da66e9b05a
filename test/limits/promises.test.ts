import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { createPlan, type Decision, PLANS, type Plan, perDay } from 'store-orders/limiter';
import { createManualClock, type ManualClock } from 'store-orders/testing';
import { createStatefulLimiter, type StatefulLimiter } from '../../dist/limits/memory/limiter.js';
import { sampledRuns } from '../support/sampled.js';
import { anyBan, anyMs, anyPolicies, forwardMs, intervalPolicy, keyPlan, policies } from './support/arbitraries.js';

interface Request {
  readonly afterMs: number;
  readonly cost: number;
}

/** Generates requests, each with a pause before it and a cost of at most `maxCost`. */
function requests(ms: fc.Arbitrary<number>, maxCost = 6): fc.Arbitrary<Request[]> {
  return fc.array(fc.record({ afterMs: ms, cost: fc.integer({ min: 1, max: maxCost }) }), {
    maxLength: 60,
    size: 'max',
  });
}

/** Sends the requests of a history to a limiter, and calls `look` after each request. */
function live(plan: Plan, history: readonly Request[], look: (now: Now) => void): void {
  const clock = createManualClock();
  const limiter = createStatefulLimiter({ clock });
  const mostAtOnce = Math.min(...plan.policies.map((policy) => policy.quota));
  for (const { afterMs, cost } of history) {
    clock.advance(afterMs);
    const costThatFits = Math.min(cost, mostAtOnce);
    look({ clock, limiter, cost: costThatFits, decision: limiter.take('key', plan, costThatFits) });
  }
}

interface Now {
  readonly clock: ManualClock;
  readonly limiter: StatefulLimiter;
  readonly cost: number;
  readonly decision: Decision;
}

/** Copies the state of the key into a new limiter, where a test can try what would happen. */
function fork(limiter: StatefulLimiter, clock: ManualClock): StatefulLimiter {
  const other = createStatefulLimiter({ clock });
  const state = limiter.inspect('key');
  if (state !== undefined) other.restore('key', state);
  return other;
}

/** Returns the seconds of the header field `Retry-After` for a decision. */
function retryAfterSeconds({ retryAfterMs }: Decision): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1_000));
}

/** Windows of at most 9 seconds, so that rounding to whole seconds makes a difference. */
const plansOfSeconds = fc
  .record({
    ban: anyBan,
    policies: policies(
      fc.record({
        name: fc.constantFrom('a', 'b'),
        quota: fc.integer({ min: 1, max: 5 }),
        windowMs: fc.integer({ min: 1, max: 9_000 }),
        refill: fc.constantFrom('interval', 'continuous'),
      }),
    ),
  })
  .map((options) => createPlan({ name: 'seconds', ...options }));

const enforced = anyPolicies.map((options) => createPlan({ name: 'enforced', policies: options, ban: false }));

test('if a decision says that R tokens remain, exactly R more requests are allowed', () => {
  const check = fc.property(enforced, requests(anyMs, 1), (plan, history) => {
    live(plan, history, ({ clock, limiter, decision }) => {
      const { remaining } = decision.inForce;
      if (remaining > 1_000) return;
      const other = fork(limiter, clock);
      for (let n = 0; n < remaining; n++) assert.equal(other.take('key', plan).verdict, 'within_quota');
      assert.equal(other.take('key', plan).verdict, 'over_quota');
    });
  });
  fc.assert(check, { numRuns: sampledRuns(1_000) });
});

test('a refused request is refused at every earlier instant, and passes after retryAfterMs or the seconds of Retry-After', () => {
  const check = fc.property(
    fc.oneof(plansOfSeconds, keyPlan),
    requests(fc.oneof(anyMs, fc.nat({ max: 700 }))),
    fc.nat(),
    (plan, history, some) => {
      live(plan, history, ({ clock, limiter, cost, decision }) => {
        const { verdict, retryAfterMs } = decision;
        assert.equal(retryAfterMs > 0, verdict !== 'within_quota');
        if (verdict === 'within_quota') return;
        const passesAfter = (ms: number): boolean => {
          clock.advance(ms);
          const { allowed } = limiter.peek('key', plan, cost);
          clock.advance(-ms);
          return allowed;
        };
        const retryAfterSecondsMs = retryAfterSeconds(decision) * 1_000;
        for (const ms of [retryAfterMs, retryAfterSecondsMs]) assert.ok(passesAfter(ms));
        for (const ms of [0, some % retryAfterMs, retryAfterMs - 1, retryAfterSecondsMs - 1_000]) {
          assert.ok(!passesAfter(ms));
        }
      });
    },
  );
  fc.assert(check, { numRuns: sampledRuns(1_000) });
});

test('no more tokens than the quota are taken between the beginning and the end of a window', () => {
  const interval = policies(intervalPolicy).map((options) => createPlan({ name: 'p', policies: options, ban: false }));
  const check = fc.property(interval, requests(forwardMs), (plan, history) => {
    const admitted: { atMs: number; cost: number }[] = [];
    const begins = new Map(plan.policies.map((policy) => [policy.name, 0]));
    live(plan, history, ({ decision: { verdict, nowMs, windows }, cost }) => {
      if (verdict !== 'within_quota') return;
      admitted.push({ atMs: nowMs, cost });
      for (const { policy, resetAtMs } of windows) {
        const { name, quota, windowMs, align } = policy;
        const beganMs = begins.get(name) ?? 0;
        // A `utc` window begins at a fixed time in UTC, such as midnight. A `first` window begins
        // when its first token is taken.
        const beginMs = align === 'utc' ? resetAtMs - windowMs : nowMs >= beganMs + windowMs ? nowMs : beganMs;
        begins.set(name, beginMs);
        const inWindow = admitted.filter(({ atMs }) => atMs >= beginMs && atMs < beginMs + windowMs);
        assert.ok(inWindow.reduce((sum, taken) => sum + taken.cost, 0) <= quota);
        assert.equal(resetAtMs, beginMs + windowMs);
      }
    });
  });
  fc.assert(check, { numRuns: sampledRuns(1_000) });
});

/**
 * A client and its plan. It has at most `after` requests in flight on a link of any speed, or as
 * many as can be forgiven on a link whose round trip is shorter than the 2 s of grace.
 */
const CLIENTS = fc.integer({ min: 1, max: 20 }).chain((after) =>
  fc.record({
    after: fc.constant(after),
    quota: fc.integer({ min: 1, max: 30 }),
    windowMs: fc.integer({ min: 1, max: 9_000 }),
    link: fc.oneof(
      fc.record({ inFlight: fc.integer({ min: 1, max: after }), oneWayMs: fc.integer({ min: 0, max: 20_000 }) }),
      fc.record({ inFlight: fc.integer({ min: 1, max: 10 * after + 1 }), oneWayMs: fc.integer({ min: 0, max: 999 }) }),
    ),
    seed: fc.nat(),
  }),
);

test('a client that obeys Retry-After is never banned with 20 requests in flight on any link, or with 200 on a quick one', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replaceAll('\n', ' ');
  const promise =
    'is never banned if it has at most 20 requests in flight, or at most 200 and a round trip below two seconds.';
  assert.ok(readme.includes(promise));
  const check = fc.property(CLIENTS, ({ after, quota, windowMs, link, seed }) => {
    const policies = [{ name: 'window', quota, windowMs }, perDay(60)];
    const plan = createPlan({ name: 'wired', policies, ban: { after } });
    const clock = createManualClock();
    const limiter = createStatefulLimiter({ clock });
    const random = fc.sample(fc.infiniteStream(fc.nat()), { seed, numRuns: 1 })[0] ?? assert.fail();
    const below = (end: number) => random.next().value % end;
    let retryAtMs = clock.nowMs();
    const events: { atMs: number; happen: () => void }[] = [];
    const later = (ms: number, happen: () => void) => events.push({ atMs: clock.nowMs() + ms, happen });

    function send(): void {
      const waitMs = retryAtMs - clock.nowMs();
      if (waitMs > 0) later(waitMs, send);
      else later(below(link.oneWayMs + 1), arrive);
    }
    function arrive(): void {
      const decision = limiter.take('key', plan);
      assert.notEqual(decision.verdict, 'banned');
      later(below(link.oneWayMs + 1), () => {
        if (!decision.allowed) retryAtMs = Math.max(retryAtMs, clock.nowMs() + retryAfterSeconds(decision) * 1_000);
        later(below(10), send);
      });
    }

    for (let n = 0; n < link.inFlight; n++) send();
    for (let n = 0; n < 3_000; n++) {
      const next = events.reduce((a, b) => (b.atMs < a.atMs ? b : a));
      events.splice(events.indexOf(next), 1);
      clock.advance(next.atMs - clock.nowMs());
      next.happen();
    }
  });
  fc.assert(check, { numRuns: 100 });
});

test('by default, a client over its daily quota is not banned if it tries again six times in 150 s', () => {
  const clock = createManualClock();
  const limiter = createStatefulLimiter({ clock });
  for (let n = 0; n < 1_000; n++) {
    if (n % 60 === 0) clock.advance(60_000);
    assert.ok(limiter.take('key', PLANS.free).allowed);
  }
  const verdicts = Array.from({ length: 7 }, () => {
    const { verdict, inForce } = limiter.take('key', PLANS.free);
    clock.advance(25_000);
    return `${verdict} ${inForce.policy.name}`;
  });
  assert.deepEqual(verdicts, Array(7).fill('over_quota day'));
});
