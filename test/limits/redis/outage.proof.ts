import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import fc from 'fast-check';
import { createPlan, type Decision, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type RedisLimiter } from 'store-orders/redis';
import { createManualClock, type ManualClock } from 'store-orders/testing';
import { skip } from '../../support/redis-server.js';
import { ROUNDS } from '../../support/rounds.js';
import { type Cut, cuttable } from './support/cut.js';
import { useRedis } from './support/redis.js';

const MINUTE_MS = 60_000;
const strict = createPlan({
  name: 'strict',
  policies: [perDay(1)],
  ban: { after: 2, graceMs: 0, baseMs: MINUTE_MS, factor: 4 },
});

const redis = useRedis();
let client: ReturnType<typeof redis>;
let clock: ManualClock;
let cut: Cut;
let limiter: RedisLimiter;
let another: RedisLimiter;

beforeEach(() => {
  if (skip) return;
  client = redis();
  clock = createManualClock();
  cut = cuttable((command) => client.call(...command));
  const options = { clock, deadlineMs: 10_000, refusalCacheMs: 0 };
  limiter = createRedisLimiter({ ...options, send: cut.send });
  another = createRedisLimiter({ ...options, send: (command) => client.call(...command) });
});

afterEach(() => cut?.stop());

/** Sends requests until the key is banned. */
async function abuse(key: string): Promise<Decision> {
  for (let n = 0; n < 4; n++) {
    await limiter.take(key, strict);
    clock.advance(1);
  }
  const decision = await limiter.take(key, strict);
  assert.equal(decision.verdict, 'banned');
  return decision;
}

const endOf = ({ nowMs, retryAfterMs }: Decision) => nowMs + retryAfterMs;

test('during an outage, a key that was banned in Redis stays banned until its ban ends', { skip }, async () => {
  await abuse('customer');
  // The second refusal that counts began the ban, a millisecond before the last request.
  await cut.cutOff(limiter, strict);
  clock.advance(MINUTE_MS - 2);
  assert.equal((await limiter.take('customer', strict)).verdict, 'banned');
  clock.advance(1);
  assert.equal((await limiter.take('customer', strict)).verdict, 'within_quota');
});

test('a ban that is lifted in Redis does not come back in the next outage', { skip }, async () => {
  await abuse('customer');
  await another.reset('customer');
  assert.equal((await limiter.take('customer', strict)).verdict, 'within_quota');
  await cut.cutOff(limiter, strict);
  assert.equal((await limiter.take('customer', strict)).verdict, 'within_quota');
});

test('a ban that began during an outage holds in its process to its end, and in no other', { skip }, async () => {
  await cut.cutOff(limiter, strict);
  const banned = await abuse('customer');
  await cut.join(limiter);
  const later = await limiter.take('customer', strict);
  assert.deepEqual([later.verdict, endOf(later)], ['banned', endOf(banned)]);
  assert.equal((await another.take('customer', strict)).verdict, 'within_quota');
  clock.advance(MINUTE_MS);
  assert.equal((await limiter.take('customer', strict)).verdict, 'over_quota', 'the server decides again');
});

test('a ban that began during an outage can be lifted in its process, before and after the outage ends', {
  skip,
}, async () => {
  await cut.cutOff(limiter, strict);
  await abuse('before');
  await abuse('after');
  await assert.rejects(limiter.unban('before'));
  assert.equal((await limiter.take('before', strict)).verdict, 'over_quota');
  await cut.join(limiter);
  await limiter.reset('after');
  for (const key of ['before', 'after']) assert.equal((await limiter.take(key, strict)).verdict, 'within_quota');
});

test('a ban that an operator sets holds in this process, even if Redis does not receive it, and the later end counts', {
  skip,
}, async () => {
  await limiter.ban('longer', MINUTE_MS);
  await limiter.ban('shorter', 10 * MINUTE_MS);
  await cut.cutOff(limiter, strict);
  await assert.rejects(limiter.ban('longer', 10 * MINUTE_MS));
  await assert.rejects(limiter.ban('shorter', MINUTE_MS));
  for (const join of [async () => {}, () => cut.join(limiter)]) {
    await join();
    for (const key of ['longer', 'shorter']) {
      const { verdict, retryAfterMs } = await limiter.take(key, strict);
      assert.deepEqual([verdict, retryAfterMs], ['banned', 10 * MINUTE_MS], key);
    }
  }
});

const QUOTA = 4;
const WINDOW_MS = 1_000;
const PROCESSES = 3;

interface Step {
  readonly who: number;
  readonly do: 'take' | 'cut' | 'join' | 'pass';
  readonly times: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    who: fc.nat({ max: PROCESSES - 1 }),
    do: fc.constantFrom('take', 'take', 'take', 'take', 'cut', 'join', 'pass'),
    times: fc.integer({ min: 1, max: 5 }),
  }),
  { maxLength: 60, size: 'max' },
);

test('however outages fall, each process grants at most one quota a key and window in addition, and refuses nothing that its quota allows', {
  skip,
}, async (t) => {
  const plan = createPlan({ name: 'p', policies: [{ name: 'w', quota: QUOTA, windowMs: WINDOW_MS }], ban: false });
  let run = 0;
  let taken = 0;
  let additional = 0;
  const property = fc.asyncProperty(steps, async (history) => {
    const prefix = `${run++}:`;
    const cuts = Array.from({ length: PROCESSES }, () => cuttable((command) => client.call(...command)));
    const limiters = cuts.map(({ send }) =>
      createRedisLimiter({ send, clock, prefix, deadlineMs: 10_000, refusalCacheMs: 0 }),
    );
    /** What was allowed, by who decided and by the window's end. */
    const allowed = new Map<string, number>();
    for (const { who, do: what, times } of history) {
      const [limiter = assert.fail(), cut = assert.fail()] = [limiters[who], cuts[who]];
      if (what === 'cut') await cut.cutOff(limiter, plan);
      else if (what === 'join') await cut.join(limiter);
      else if (what === 'pass') clock.advance(times * 150);
      for (let n = 0; what === 'take' && n < times; n++) {
        const decision = await limiter.take('customer', plan);
        const counter = `${cut.isCut ? who : 'Redis'} ${decision.inForce.resetAtMs}`;
        const before = allowed.get(counter) ?? 0;
        assert.equal(decision.allowed, before < QUOTA, counter);
        if (decision.allowed) allowed.set(counter, before + 1);
        taken++;
        if (cut.isCut && decision.allowed) additional++;
      }
    }
    for (const { stop } of cuts.toReversed()) stop();
  });
  await fc.assert(property, { numRuns: 10 * ROUNDS });
  t.diagnostic(`${taken} requests, ${additional} allowed in addition`);
  assert.ok(additional > taken / 20);
});
