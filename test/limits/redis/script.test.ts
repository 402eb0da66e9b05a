import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mock, test } from 'node:test';
import type { Redis } from 'ioredis';
import { createPlan, perDay, perMinute } from 'store-orders/limiter';
import { createRedisLimiter, type RedisLimiter } from 'store-orders/redis';
import { createManualClock } from 'store-orders/testing';
import { ADVICE, FORMATS, VERSION } from '../../promises/formats/support/formats.js';
import { skip } from '../../support/redis-server.js';
import { openLimiter, PLAN as RECORDED_PLAN, REQUESTS, writeRecords } from './support/records.js';
import { useRedis } from './support/redis.js';

const PLAN = createPlan({ name: 'plan', policies: [perMinute(60), perDay(1_000)], ban: { after: 3, graceMs: 0 } });
const SMALL = createPlan({ name: 'small', policies: [perDay(1)], ban: { after: 3, graceMs: 0 } });
const DAY_MS = 86_400_000;

const redis = useRedis();
const open = (options: { refusalCacheMs?: number } = {}) =>
  createRedisLimiter({ send: (command) => redis().call(...command), deadlineMs: 10_000, ...options });

/** Stores a value that Lua packs, as the script packs records. */
const pack = (lua: string) => (client: Redis, name: string) =>
  client.eval(`redis.call('SET', KEYS[1], cmsgpack.pack(${lua}))`, 1, name);

const DAMAGE: Readonly<Record<string, (client: Redis, name: string) => Promise<unknown>>> = {
  'has another type': async (client, name) => {
    await client.del(name);
    await client.hset(name, 'field', 'value');
  },
  'is a string': (client, name) => client.set(name, 'hello'),
  'is a number': pack('5'),
  'lacks the end of a window': pack("{ false, 'minute 60000 interval', 1 }"),
  'has a word in place of a time': pack("{ false, 'minute 60000 interval', 1, 'x' }"),
  'has a ban with too few numbers': pack('{ { refusedAt = 5, strikes = {} } }'),
};

for (const [what, damage] of Object.entries(DAMAGE)) {
  test(`a damaged record that ${what} is discarded`, { skip }, async () => {
    for (const after of [PLAN, SMALL]) {
      await redis().flushall();
      const limiter = open();
      await limiter.take('key', PLAN);
      const [name = ''] = await redis().keys('*');
      await damage(redis(), name);
      const { result, windows } = await limiter.take('key', after);
      assert.deepEqual([result, windows[0]?.remaining], ['within_quota', (after.policies[0]?.quota ?? 0) - 1]);
      assert.equal(limiter.mode, 'shared', 'the limiter still counts all keys in Redis');
    }
  });
}

// `probed` advances this clock to the next probe.
let aheadMs = 0;
const real = performance.now.bind(performance);
mock.method(performance, 'now', () => real() + aheadMs);

/** Lets a limiter probe its server. Resolves to the mode after the probes. */
async function probed(limiter: RedisLimiter): Promise<string> {
  aheadMs += 1_001;
  void limiter.mode;
  // The replies to the three probes come before the last of these, of which two may pass beside each.
  for (let n = 0; n < 12; n++) await redis().ping();
  return limiter.mode;
}

/** Returns a record as JSON, as redis-cli shows it. */
const unpack = async (name: string) =>
  String(await redis().eval("return cjson.encode(cmsgpack.unpack(redis.call('GET', KEYS[1])))", 1, name));

test('a record can be read with redis-cli', {
  skip,
}, async () => {
  const limiter = open();
  const read = async () => {
    const [name = ''] = await redis().keys('*');
    return JSON.parse((await unpack(name)).replace(/\d{13}/g, '"an instant"'));
  };
  const windows = ['minute 60000 interval', 2, 'an instant', 'day 86400000 interval', 2, 'an instant'];
  for (let n = 0; n < 2; n++) await limiter.take('key', PLAN);
  assert.deepEqual(await read(), [false, ...windows]);
  await limiter.ban('key', 5_000);
  const ban = { refusedAt: 0, forgiven: 0, strikes: {}, banEnd: 'an instant', banMs: 5_000, level: 0, forgetAt: 0 };
  assert.deepEqual(await read(), [ban, ...windows]);
  await limiter.unban('key');
  assert.deepEqual(await read(), [false, ...windows]);
});

test('records are those that this version has stored, and a limiter reads them', { skip }, async () => {
  const stored = JSON.parse(readFileSync(new URL(`${VERSION}-redis.json`, FORMATS), 'utf8'));
  const written = await writeRecords(redis());
  for (const [key, requests] of Object.entries(REQUESTS)) {
    const { name, bytes } = stored[key];
    assert.equal(written[key]?.name, name, ADVICE);
    const record = await unpack(name);
    const decision = await openLimiter(redis()).peek(key, RECORDED_PLAN);
    assert.equal(decision.result, { 1: 'within_quota', 4: 'over_quota', 5: 'banned' }[requests]);
    await redis().set(name, Buffer.from(bytes, 'hex'));
    assert.deepEqual(await unpack(name), record, ADVICE);
    assert.deepEqual(await openLimiter(redis()).peek(key, RECORDED_PLAN), decision);
  }
});

test('a record expires when nothing in it counts any more, and its name does not contain the key id', {
  skip,
}, async () => {
  const limiter = open({ refusalCacheMs: 0 });
  const { nowMs, inForce, utcOffsetMs } = await limiter.take('customer-1', SMALL);
  assert.equal(utcOffsetMs, 0);
  assert.equal(inForce.resetAtMs, nowMs + DAY_MS);
  const [name = '', ...others] = await redis().keys('*');
  assert.deepEqual(others, []);
  assert.match(name, /^store-orders:2:[\w-]{43}$/);
  // The server's clock can advance between the decision and the expiry.
  const assertExpiry = async (ms: number) => {
    const lateMs = (await redis().pexpiretime(name)) - ms;
    assert.ok(lateMs >= 0 && lateMs <= 2_000, `${lateMs}`);
  };
  await assertExpiry(inForce.resetAtMs);
  let refusal = await limiter.take('customer-1', SMALL);
  while (refusal.result !== 'banned') refusal = await limiter.take('customer-1', SMALL);
  // The ban takes a minute, and for 24 hours after it the next ban is longer.
  await assertExpiry(refusal.nowMs + 60_000 + DAY_MS);
  await limiter.ban('customer-1', 2 * DAY_MS);
  assert.ok((await redis().pexpiretime(name)) >= nowMs + 2 * DAY_MS);
  await limiter.unban('customer-1');
  await limiter.reset('customer-1');
  assert.deepEqual(await redis().keys('*'), []);
});

for (const clock of [undefined, createManualClock()]) {
  test(`a probe ${clock === undefined ? '' : "by the host's clock "}needs a server that can write, changes no record and leaves none`, {
    skip,
  }, async () => {
    let isCut = false;
    const limiter = createRedisLimiter({
      clock,
      deadlineMs: 10_000,
      async send(command) {
        if (isCut && command.at(-1) !== 'probe' && command.at(-2) !== 'probe') throw new Error('cut');
        return redis().call(...command);
      },
    });
    for (let n = 0; n < 3; n++) await limiter.take('known', SMALL);
    const [name = ''] = await redis().keys('*');
    const stored = JSON.parse(await unpack(name));
    const expiresAtMs = await redis().pexpiretime(name);
    const reasons: string[] = [];
    for (const [setting, off] of [
      ['maxmemory', '0'],
      ['min-replicas-to-write', '0'],
    ] as const) {
      isCut = true;
      for (const key of ['known', 'unknown', 'new']) for (let n = 0; n < 3; n++) await limiter.take(key, SMALL);
      await redis().config('SET', setting, '1');
      reasons.push(await probed(limiter));
      await redis().config('SET', setting, off);
      assert.equal(await probed(limiter), 'shared');
      isCut = false;
    }
    assert.deepEqual(reasons, ['local', 'local']);
    assert.deepEqual(await redis().keys('*'), [name]);
    assert.deepEqual(JSON.parse(await unpack(name)), stored);
    assert.ok(Math.abs((await redis().pexpiretime(name)) - expiresAtMs) <= 20);
  });
}
