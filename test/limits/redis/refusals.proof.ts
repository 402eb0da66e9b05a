import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { createPlan, type Decision, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type RedisLimiter } from 'store-orders/redis';
import { createManualClock, type ManualClock } from 'store-orders/testing';
import { skip } from '../../support/redis-server.js';
import { ROUNDS } from '../../support/rounds.js';
import { useRedis } from './support/redis.js';

const MINUTE_MS = 60_000;
const strict = createPlan({
  name: 'strict',
  policies: [perDay(1)],
  ban: { after: 2, graceMs: 0, baseMs: MINUTE_MS, factor: 4 },
});

const mild = createPlan({ name: 'mild', policies: [perDay(1)], ban: false });

// `join` advances this clock to the next probe, so that no test has to wait for it.
let aheadMs = 0;
const real = performance.now.bind(performance);
mock.method(performance, 'now', () => real() + aheadMs);

const redis = useRedis();
let clock: ManualClock;
let here: ReturnType<typeof startProcess>;
let limiter: RedisLimiter;
let another: RedisLimiter;

beforeEach(() => {
  clock = createManualClock();
  here = startProcess();
  limiter = here.limiter;
  another = startProcess().limiter;
});

/** Starts a limiter with a connection of its own, which a test can cut and restore. */
function startProcess(prefix = '') {
  let isCut = false;
  const limiter = createRedisLimiter({
    clock,
    prefix,
    deadlineMs: 10_000,
    refusalCacheMs: 0,
    async send(command) {
      if (isCut) throw new Error('cut');
      return redis().call(...command);
    },
  });
  return {
    limiter,
    isCut: () => isCut,
    /** Cuts the connection. Resolves when the limiter has noticed. */
    async cutOff() {
      isCut = true;
      // A failure counts only if its call was sent after the failure before was noticed.
      for (let failures = 0; failures < 3; failures++) await limiter.take('somebody else', mild);
      assert.equal(limiter.mode, 'local');
    },
    /** Restores the connection. Resolves when the limiter counts in Redis again. */
    async join() {
      isCut = false;
      aheadMs += 1_001;
      for (const beganMs = real(); limiter.mode !== 'shared'; await turn()) {
        assert.ok(real() - beganMs < 10_000, 'the limiter does not use Redis again after the outage');
      }
    },
  };
}

/** Sends requests until the key is banned. */
async function abuse(key: string): Promise<Decision> {
  for (let n = 0; n < 4; n++) {
    await limiter.take(key, strict);
    clock.advance(1);
  }
  const decision = await limiter.take(key, strict);
  assert.equal(decision.result, 'banned');
  return decision;
}

const endOf = ({ nowMs, retryAfterMs }: Decision) => nowMs + retryAfterMs;

test('during an outage, a key that was banned in Redis stays banned until its ban ends, beside what it has used here', {
  skip,
}, async () => {
  await here.cutOff();
  await limiter.take('customer', strict);
  await here.join();
  await abuse('customer');
  // The second refusal that counts began the ban, a millisecond before the last request.
  await here.cutOff();
  clock.advance(MINUTE_MS - 2);
  const { result, windows } = await limiter.take('customer', strict);
  assert.deepEqual([result, windows[0]?.remaining], ['banned', 0]);
  clock.advance(1);
  assert.equal((await limiter.take('customer', strict)).result, 'over_quota');
});

test('a ban that is lifted in Redis does not come back in the next outage', { skip }, async () => {
  for (const key of ['by reset', 'by unban', 'elsewhere']) await abuse(key);
  await limiter.reset('by reset');
  await limiter.unban('by unban');
  await another.reset('elsewhere');
  assert.equal((await limiter.take('elsewhere', strict)).result, 'within_quota');
  await here.cutOff();
  for (const key of ['by reset', 'by unban', 'elsewhere']) {
    assert.equal((await limiter.take(key, strict)).result, 'within_quota', key);
  }
});

test('a ban that began during an outage holds in its process to its end, and in no other', { skip }, async () => {
  await here.cutOff();
  const banned = await abuse('customer');
  await here.join();
  const later = await limiter.take('customer', strict);
  assert.deepEqual([later.result, endOf(later)], ['banned', endOf(banned)]);
  assert.equal((await another.take('customer', strict)).result, 'within_quota');
  clock.advance(MINUTE_MS);
  assert.equal((await limiter.take('customer', strict)).result, 'over_quota', 'the server decides again');
});

test('a ban that began during an outage can be lifted in its process, before and after the outage ends', {
  skip,
}, async () => {
  await here.cutOff();
  await abuse('before');
  await abuse('after');
  await assert.rejects(limiter.unban('before'));
  assert.equal((await limiter.take('before', strict)).result, 'over_quota');
  await here.join();
  await limiter.reset('after');
  for (const key of ['before', 'after']) assert.equal((await limiter.take(key, strict)).result, 'within_quota');
});

test('a ban that an operator sets holds in this process, even if Redis does not receive it, and the later end counts', {
  skip,
}, async () => {
  await limiter.ban('longer', MINUTE_MS);
  await limiter.ban('shorter', 10 * MINUTE_MS);
  await here.cutOff();
  await assert.rejects(limiter.ban('longer', 10 * MINUTE_MS));
  await assert.rejects(limiter.ban('shorter', MINUTE_MS));
  for (const join of [() => {}, here.join]) {
    await join();
    for (const key of ['longer', 'shorter']) {
      const { result, retryAfterMs } = await limiter.take(key, strict);
      assert.deepEqual([result, retryAfterMs], ['banned', 10 * MINUTE_MS], key);
    }
  }
});

const QUOTA = 4;
const PROCESSES = 3;

const step = fc.record({
  who: fc.nat({ max: PROCESSES - 1 }),
  act: fc.constantFrom('take', 'take', 'take', 'take', 'cut', 'join', 'pass'),
  times: fc.integer({ min: 1, max: 5 }),
});

test('however outages fall, each process grants at most one quota a key and window in addition, and refuses nothing that its quota allows', {
  skip,
}, async (t) => {
  const plan = createPlan({ name: 'p', policies: [{ name: 'w', quota: QUOTA, windowMs: 1_000 }], ban: false });
  let run = 0;
  let taken = 0;
  let additional = 0;
  const property = fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (history) => {
    const prefix = `${run++}:`;
    const processes = Array.from({ length: PROCESSES }, () => startProcess(prefix));
    /** What was allowed, by who decided and by the window's end. */
    const allowed = new Map<string, number>();
    for (const { who, act, times } of history) {
      const { limiter, isCut, cutOff, join } = processes[who] ?? assert.fail();
      if (act === 'cut') await cutOff();
      else if (act === 'join') await join();
      else if (act === 'pass') clock.advance(times * 150);
      for (let n = 0; act === 'take' && n < times; n++) {
        const decision = await limiter.take('customer', plan);
        const counter = `${isCut() ? who : 'Redis'} ${decision.inForce.resetAtMs}`;
        const before = allowed.get(counter) ?? 0;
        assert.equal(decision.allowed, before < QUOTA, counter);
        if (decision.allowed) allowed.set(counter, before + 1);
        taken++;
        if (isCut() && decision.allowed) additional++;
      }
    }
  });
  await fc.assert(property, { numRuns: 10 * ROUNDS });
  t.diagnostic(`${taken} requests, ${additional} allowed in addition`);
  assert.ok(additional > taken / 20);
});
