import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type RedisLimiter } from 'store-orders/redis';
import { createManualClock, type ManualClock } from 'store-orders/testing';
import { type Cut, cuttable } from './support/cut.js';
import { useRedis } from './support/redis.js';
import { skip } from './support/server.js';

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
  limiter = createRedisLimiter({ send: cut.send, clock, deadlineMs: 10_000 });
  another = createRedisLimiter({ send: (command) => client.call(...command), clock, deadlineMs: 10_000 });
});

afterEach(() => cut?.stop());

/** Sends requests until the key is banned. */
async function abuse(key: string): Promise<void> {
  for (let n = 0; n < 5; n++) {
    await limiter.take(key, strict);
    clock.advance(1);
  }
  assert.equal((await limiter.peek(key, strict)).verdict, 'banned');
}

async function cutOff(): Promise<void> {
  cut.isCut = true;
  await limiter.take('somebody else', strict);
  assert.equal(limiter.mode, 'local');
}

test('during an outage, a key that was banned in Redis stays banned until its ban ends', { skip }, async () => {
  await abuse('customer');
  const { nowMs, retryAfterMs } = await limiter.take('customer', strict);
  const ban = (await limiter.inspect('customer'))?.ban;
  await cutOff();
  clock.advance(1_100);
  const banned = await limiter.take('customer', strict);
  assert.equal(banned.verdict, 'banned');
  assert.equal(banned.nowMs + banned.retryAfterMs, Math.min(nowMs + retryAfterMs, ban?.banEndMs ?? 0));
  clock.advance(MINUTE_MS);
  assert.notEqual((await limiter.take('customer', strict)).verdict, 'banned');
});

test('a ban that is lifted in Redis does not come back in the next outage', { skip }, async () => {
  await abuse('customer');
  await another.reset('customer');
  clock.advance(1_000);
  assert.equal((await limiter.take('customer', strict)).verdict, 'within_quota');
  await cutOff();
  assert.equal((await limiter.take('customer', strict)).verdict, 'within_quota');
});

test('a ban that began during an outage still applies after the outage, in every process', { skip }, async () => {
  await cutOff();
  await abuse('customer');
  const local = await limiter.take('customer', strict);
  await cut.join(limiter);
  const ban = (await another.inspect('customer'))?.ban;
  assert.equal(ban?.banMs, MINUTE_MS);
  assert.equal(ban?.level, 1);
  for (const one of [limiter, another]) {
    const { verdict, nowMs, retryAfterMs } = await one.take('customer', strict);
    assert.deepEqual([verdict, nowMs + retryAfterMs], ['banned', local.nowMs + local.retryAfterMs]);
  }
});

test('a ban that began during an outage does not shorten a longer ban in Redis, but lengthens the next ban', {
  skip,
}, async () => {
  await cutOff();
  await abuse('customer');
  await another.ban('customer', 10 * MINUTE_MS);
  await cut.join(limiter);
  const ban = (await another.inspect('customer'))?.ban;
  assert.deepEqual([ban?.banMs, ban?.level], [10 * MINUTE_MS, 1]);
  clock.advance(10 * MINUTE_MS);
  await abuse('customer');
  assert.equal((await another.inspect('customer'))?.ban?.banMs, 4 * MINUTE_MS);
});

test('a ban that begins during an outage is longer if the key was banned before the outage', { skip }, async () => {
  await abuse('customer');
  clock.advance(MINUTE_MS);
  await cutOff();
  await abuse('customer');
  await cut.join(limiter);
  const ban = (await another.inspect('customer'))?.ban;
  assert.deepEqual([ban?.banMs, ban?.level], [4 * MINUTE_MS, 2]);
});

test('a ban that an operator sets applies in this process even if Redis has not received it, and reaches Redis after the outage', {
  skip,
}, async () => {
  await limiter.ban('before', 10 * MINUTE_MS);
  await cutOff();
  await assert.rejects(limiter.ban('meanwhile', 10 * MINUTE_MS));
  for (const key of ['before', 'meanwhile']) {
    assert.equal((await limiter.take(key, strict)).verdict, 'banned', key);
  }
  await cut.join(limiter);
  assert.equal((await another.take('meanwhile', strict)).verdict, 'banned');
  assert.equal((await another.inspect('meanwhile'))?.ban?.level, 0);
});

test('a ban that an operator sets during an outage can be lifted before Redis learns of it', { skip }, async () => {
  await cutOff();
  await assert.rejects(limiter.ban('customer', 10 * MINUTE_MS));
  await assert.rejects(limiter.unban('customer'));
  assert.equal((await limiter.take('customer', strict)).verdict, 'within_quota');
  await cut.join(limiter);
  assert.notEqual((await another.take('customer', strict)).verdict, 'banned');
});
