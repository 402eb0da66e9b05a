import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createPlan, type Decision, PLANS, type Plan, perDay, type QuotaPolicyOptions } from 'store-orders/limiter';
import { createRedisLimiter, type RedisLimiter } from 'store-orders/redis';
import { createManualClock, type ManualClock } from 'store-orders/testing';
import { type Cut, cuttable } from './support/cut.js';
import { useRedis } from './support/redis.js';
import { skip } from './support/server.js';

const HOUR_MS = 3_600_000;
const perHour = (quota: number): QuotaPolicyOptions => ({ name: 'hour', quota, windowMs: HOUR_MS });
const daily = createPlan({ name: 'daily', policies: [perDay(100)] });
const hourly = createPlan({ name: 'hourly', policies: [perHour(100)] });
const trickling = createPlan({ name: 'trickling', policies: [{ ...perHour(100), refill: 'continuous' }] });

const redis = useRedis();
let client: ReturnType<typeof redis>;
let clock: ManualClock;
let cut: Cut;
let limiter: RedisLimiter;

beforeEach(() => {
  if (skip) return;
  client = redis();
  clock = createManualClock();
  cut = cuttable((command) => client.call(...command));
  limiter = createRedisLimiter({ send: cut.send, clock, deadlineMs: 10_000 });
});

afterEach(() => cut?.stop());

async function cutOff(): Promise<void> {
  cut.isCut = true;
  await limiter.take('somebody else', daily);
  assert.equal(limiter.mode, 'local');
}

async function taken(): Promise<Record<string, number>> {
  const buckets = (await limiter.inspect('customer'))?.buckets ?? [];
  return Object.fromEntries(
    buckets.map((bucket) => [bucket.name, bucket.refill === 'interval' ? bucket.taken : bucket.taken / HOUR_MS]),
  );
}

test('after an outage, each allowed request is charged under the plan that allowed it', { skip }, async () => {
  await cutOff();
  for (let n = 0; n < 20; n++) await limiter.take('customer', daily);
  await limiter.take('customer', hourly);
  await cut.join(limiter);
  assert.deepEqual(await taken(), { day: 20, hour: 1 });
});

test('a window that two plans share is charged for the requests under both plans', { skip }, async () => {
  const both = createPlan({ name: 'both', policies: [perHour(50), perDay(50)] });
  await cutOff();
  for (const plan of [daily, both, daily, hourly, both]) await limiter.take('customer', plan);
  await cut.join(limiter);
  assert.deepEqual(await taken(), { day: 4, hour: 3 });
});

test('if a plan object changes during an outage, each request is charged under the values that the plan had at the time', {
  skip,
}, async () => {
  const [policy = assert.fail()] = daily.policies.map((one) => ({ ...one }));
  const plan: Plan = { ...daily, policies: [policy] };
  await cutOff();
  for (let n = 0; n < 3; n++) await limiter.take('customer', plan);
  Object.assign(policy, { name: 'hour', windowMs: HOUR_MS });
  await limiter.take('customer', plan);
  await cut.join(limiter);
  assert.deepEqual(await taken(), { day: 3, hour: 1 });
});

for (const [what, plan] of [
  ['interval refill', daily],
  ['continuous refill', trickling],
] as const) {
  test(`a request allowed during an outage can be refunded either before or after it is charged in Redis (${what})`, {
    skip,
  }, async () => {
    const [{ name = '' } = {}] = plan.policies;
    await limiter.take('customer', plan);
    clock.advance(plan === daily ? 1_000 : 0);
    await cutOff();
    const decisions: Decision[] = [];
    for (let n = 0; n < 5; n++) decisions.push(await limiter.take('customer', plan));
    const [one, two, three] = decisions;
    assert.ok(one && two && three);
    await limiter.refund(one);
    assert.equal((await limiter.peek('customer', plan, 0)).inForce.remaining, 96);
    await cut.join(limiter);
    assert.deepEqual(await taken(), { [name]: 5 });
    await limiter.refund(two);
    assert.deepEqual(await taken(), { [name]: 4 });
    await cutOff();
    assert.equal((await limiter.peek('customer', plan, 0)).inForce.remaining, 97);
    await assert.rejects(limiter.refund(three), 'a refund that must change Redis is rejected during an outage');
  });
}

test('during an outage, a refund of tokens taken in Redis is rejected, and returns no tokens in this process', {
  skip,
}, async () => {
  const decision = await limiter.take('customer', trickling);
  await cutOff();
  await limiter.take('customer', trickling);
  await assert.rejects(limiter.refund(decision));
  assert.equal((await limiter.peek('customer', trickling, 0)).inForce.remaining, 99);
});

test('when an outage ends, the limiter replaces the record of a key in Redis if the record has the wrong type', {
  skip,
}, async () => {
  await limiter.take('customer', PLANS.free);
  const [name = ''] = await client.keys('*');
  cut.isCut = true;
  await limiter.take('customer', PLANS.free);
  assert.equal(limiter.mode, 'local');
  await client.del(name);
  await client.lpush(name, 'x');
  await cut.join(limiter);
  assert.equal((await limiter.take('customer', PLANS.free)).inForce.remaining, 58);
});
