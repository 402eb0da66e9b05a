import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlan, PLANS, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type SendCommand } from 'store-orders/redis';
import { createManualClock } from 'store-orders/testing';
import { connect, type Server, skip, startServer } from './support/server.js';

const DAY_MS = 86_400_000;

let server: Server;
let client: ReturnType<typeof connect>;

before(async () => {
  if (skip) return;
  server = await startServer();
  client = connect(server.port);
});

after(async () => {
  client?.disconnect();
  await server?.stop();
});

beforeEach(async () => {
  if (!skip) await client.flushall();
});

const daily = createPlan({ name: 'daily', policies: [perDay(2)] });

test('a request that Redis has counted is not charged again if Redis replies too late', { skip }, async () => {
  const kept: (() => void)[] = [];
  let isKeeping = false;
  const keeping: SendCommand = async (command) => {
    const answer = await client.call(...command);
    if (isKeeping) await new Promise<void>((resolve) => kept.push(resolve));
    return answer;
  };
  const limiter = createRedisLimiter({ send: keeping, deadlineMs: 200 });
  await limiter.peek('warm', daily);
  while (limiter.mode !== 'shared') await sleep(50);
  isKeeping = true;
  assert.equal((await limiter.take('customer', daily)).verdict, 'within_quota');
  assert.equal(limiter.mode, 'local');
  isKeeping = false;
  for (const release of kept) release();
  while (limiter.mode !== 'shared') await sleep(50);
  await sleep(50);
  assert.equal((await limiter.inspect('customer'))?.buckets[0]?.taken, 1);
});

test('a request allowed while Redis fails is charged to the window in which it was allowed', {
  skip,
}, async () => {
  const clock = createManualClock();
  let isFailing = true;
  const failing: SendCommand = (command) => (isFailing ? Promise.reject(new Error('away')) : client.call(...command));
  const limiter = createRedisLimiter({ send: failing, clock, deadlineMs: 10_000 });
  const { inForce } = await limiter.take('customer', daily);
  assert.equal(limiter.mode, 'local');
  clock.advance(5_000);
  isFailing = false;
  while (
    (await createRedisLimiter({ send: (command) => client.call(...command), clock, deadlineMs: 10_000 }).inspect(
      'customer',
    )) === undefined
  ) {
    assert.ok(['local', 'shared'].includes(limiter.mode), 'reading limiter.mode makes the limiter try Redis again');
    await sleep(50);
  }
  const bucket = { name: 'day', windowMs: DAY_MS, refill: 'interval', taken: 1, atMs: inForce.resetAtMs };
  assert.deepEqual(await limiter.inspect('customer'), { buckets: [bucket] });
});

test('if several outages fall into one window, a key gets its quota only once, and each request is charged once', {
  skip,
}, async () => {
  let isFailing = true;
  const failing: SendCommand = (command) => (isFailing ? Promise.reject(new Error('away')) : client.call(...command));
  const limiter = createRedisLimiter({ send: failing, deadlineMs: 10_000 });
  const plan = createPlan({ name: 'some', policies: [perDay(5)] });
  const passed = async (times: number) => {
    let count = 0;
    for (let n = 0; n < times; n++) if ((await limiter.take('customer', plan)).verdict === 'within_quota') count++;
    return count;
  };
  assert.equal(await passed(3), 3);
  for (const more of [2, 0]) {
    isFailing = false;
    while (limiter.mode !== 'shared') await sleep(50);
    while ((await limiter.inspect('customer'))?.buckets[0]?.taken !== (more === 2 ? 3 : 5)) await sleep(10);
    isFailing = true;
    await limiter.take('other', plan);
    assert.equal(limiter.mode, 'local');
    assert.equal(await passed(4), more);
  }
});

test('after an outage, a charge is sent to Redis only once, even if Redis replies late', { skip }, async () => {
  const kept: (() => void)[] = [];
  let mode: 'failing' | 'keeping' | 'sound' = 'failing';
  const keeping: SendCommand = async (command) => {
    if (mode === 'failing') throw new Error('away');
    const answer = await client.call(...command);
    if (mode === 'keeping' && command.includes('charge')) await new Promise<void>((resolve) => kept.push(resolve));
    return answer;
  };
  const limiter = createRedisLimiter({ send: keeping, deadlineMs: 200 });
  const isShared = () => limiter.mode === 'shared';
  for (let n = 0; n < 2; n++) await limiter.take('customer', PLANS.free);
  mode = 'keeping';
  while (kept.length === 0) {
    isShared();
    await sleep(20);
  }
  while (isShared()) await sleep(20);
  mode = 'sound';
  for (const release of kept) release();
  while (!isShared()) await sleep(50);
  await limiter.take('customer', PLANS.free);
  await sleep(100);
  assert.deepEqual(
    (await limiter.inspect('customer'))?.buckets.map(({ taken }) => taken),
    [3, 3],
  );
});

test('unbanning a key lifts a ban imposed during an outage, and the next outage does not restore the ban', {
  skip,
}, async () => {
  const clock = createManualClock();
  let isFailing = true;
  const failing: SendCommand = (command) => (isFailing ? Promise.reject(new Error('away')) : client.call(...command));
  const limiter = createRedisLimiter({ send: failing, clock, deadlineMs: 10_000 });
  const strict = createPlan({ name: 'strict', policies: [perDay(1)], ban: { after: 1, graceMs: 0 } });
  for (let n = 0; n < 4; n++) {
    await limiter.take('customer', strict);
    clock.advance(1);
  }
  assert.equal((await limiter.peek('customer', strict)).verdict, 'banned');
  isFailing = false;
  while (limiter.mode !== 'shared') await sleep(50);
  await limiter.unban('customer');
  isFailing = true;
  await limiter.take('other', strict);
  assert.equal((await limiter.peek('customer', strict)).verdict, 'over_quota');
});
