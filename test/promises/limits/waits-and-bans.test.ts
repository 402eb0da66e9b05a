import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMemoryLimiter, createPlan, type Decision, PLANS, perDay } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';
import { randomFrom } from '../../support/rounds.js';
import { sampledRuns } from '../../support/sampled.js';
import { anyBan, anyMs, keyPlan, policies } from './support/arbitraries.js';

const DAY_MS = 86_400_000;

const README = readFileSync(new URL('../../../src/limits/README.md', import.meta.url), 'utf8').replaceAll(/\n */g, ' ');

function start() {
  const clock = createManualClock();
  return { clock, limiter: createMemoryLimiter({ clock }) };
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

test('a refused request is refused at every earlier instant, and passes after retryAfterMs or the seconds of Retry-After', () => {
  const request = fc.record({ afterMs: fc.oneof(anyMs, fc.nat({ max: 700 })), most: fc.integer({ min: 1, max: 6 }) });
  const requests = fc.array(request, { maxLength: 60, size: 'max' });
  const check = fc.property(fc.oneof(plansOfSeconds, keyPlan), requests, fc.nat(), (plan, history, some) => {
    const { clock, limiter } = start();
    for (const { afterMs, most } of history) {
      clock.advance(afterMs);
      const cost = Math.min(most, ...plan.policies.map(({ quota }) => quota));
      const decision = limiter.take('key', plan, cost);
      const { result, retryAfterMs } = decision;
      assert.equal(retryAfterMs > 0, result !== 'within_quota');
      if (result === 'within_quota') continue;
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
    }
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
  const promise =
    'is never banned if it has at most 20 requests in flight, or at most 200 and a round trip below two seconds.';
  assert.ok(README.includes(promise));
  const check = fc.property(CLIENTS, ({ after, quota, windowMs, link, seed }) => {
    const policies = [{ name: 'window', quota, windowMs }, perDay(60)];
    const plan = createPlan({ name: 'wired', policies, ban: { after } });
    const { clock, limiter } = start();
    const random = randomFrom(seed);
    const below = (end: number) => Math.floor(random() * end);
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
      assert.notEqual(decision.result, 'banned');
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

test('a ban begins after the number of refusals that src/limits/README.md states', () => {
  const rule =
    'In the two seconds after the first 429, up to 200 refusals are forgiven, or as many as the smallest quota if that is more. ' +
    'The 20th later refusal within a minute starts the ban.';
  assert.ok(README.includes(rule));
  const month = { name: 'month', quota: 1_000, windowMs: 30 * DAY_MS };
  const large = createPlan({ name: 'large', policies: [month, { ...month, name: 'spare', quota: 2_000 }] });
  const hasty = createPlan({ name: 'hasty', policies: [month], ban: { after: 4 } });
  for (const [plan, pauseMs, bannedAt] of [
    [PLANS.free, 0, 200 + 20],
    [PLANS.free, 100, 20 + 20],
    [large, 0, 1_000 + 20],
    [hasty, 19_999, 4],
    // At this pace only three refusals fall into a minute, so the key is never banned.
    [hasty, 20_000, 0],
  ] as const) {
    const { clock, limiter } = start();
    while (limiter.take('key', plan).allowed);
    const results = Array.from({ length: 1_100 }, () => {
      clock.advance(pauseMs);
      return limiter.take('key', plan).result;
    });
    assert.equal(1 + results.indexOf('banned'), bannedAt, `${plan.name}, every ${pauseMs} ms`);
  }
});
