import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { Redis } from 'ioredis';
import { createPlan, type Plan, perDay, perMinute } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { skip } from '../../support/redis-server.js';
import { useRedis } from './support/redis.js';

const PLAN = createPlan({ name: 'plan', policies: [perMinute(60), perDay(1_000)], ban: { after: 3, graceMs: 0 } });
const SMALL = createPlan({ name: 'small', policies: [perDay(1)], ban: { after: 3, graceMs: 0 } });

const redis = useRedis();
let client: Redis;
const open = () => createRedisLimiter({ send: (command) => client.call(...command), deadlineMs: 10_000 });

beforeEach(() => {
  if (!skip) client = redis();
});

/** Stores a value that Lua packs, as the script packs records. */
const pack = (lua: string) => (client: Redis, name: string) =>
  client.eval(`redis.call('SET', KEYS[1], cmsgpack.pack(${lua}))`, 1, name);

const BUCKET = "'minute 60000 interval'";
const BAN = 'forgiven = 0, banEnd = 0, banMs = 0, level = 0, forgetAt = 0';

const DAMAGE: Readonly<Record<string, (client: Redis, name: string, record: Buffer) => Promise<unknown>>> = {
  'has another type': async (client, name) => {
    await client.del(name);
    await client.hset(name, 'field', 'value');
  },
  'is empty': (client, name) => client.set(name, ''),
  'is a string': (client, name) => client.set(name, 'hello'),
  'lacks its last byte': (client, name, record) => client.set(name, record.subarray(0, -1)),
  'lacks its first byte': (client, name, record) => client.set(name, record.subarray(1)),
  'is a number': pack('5'),
  'is an empty list': pack('{}'),
  'lacks the end of a window': pack(`{ false, ${BUCKET}, 1 }`),
  'has a table as the name of a window': pack('{ false, {}, 1, 1 }'),
  'has a word in place of a time': pack(`{ false, ${BUCKET}, 1, 'x' }`),
  'has a ban with too few numbers': pack('{ { refusedAt = 5, strikes = {} } }'),
  'has a ban without strikes': pack(`{ { refusedAt = 5, ${BAN} } }`),
  'has a ban with a table in place of a number': pack(`{ { refusedAt = 5, ${BAN}, strikes = { {} } } }`),
};

describe('a damaged record', { skip }, () => {
  for (const [what, damage] of Object.entries(DAMAGE)) {
    for (const [whose, before, after] of [
      ['the same plan', PLAN, PLAN],
      ['another plan', PLAN, SMALL],
      ['a refused key', SMALL, SMALL],
    ] as const) {
      test(`that ${what} is discarded, for ${whose}`, async () => {
        const limiter = open();
        await limiter.take('key', before);
        if (before === SMALL) await limiter.take('key', before);
        const [name = ''] = await client.keys('*');
        await damage(client, name, (await client.getBuffer(name)) ?? Buffer.alloc(0));
        const other = open();
        const { verdict, windows } = await other.take('key', after);
        assert.deepEqual([verdict, windows[0]?.remaining], ['within_quota', remainingOf(after)]);
        assert.equal(other.mode, 'shared', 'the limiter still counts all keys in Redis');
      });
    }
  }

  function remainingOf({ policies }: Plan): number {
    return (policies[0]?.quota ?? 0) - 1;
  }
});

test('a record can be read with redis-cli', { skip }, async () => {
  await open().take('key', PLAN);
  const [name = ''] = await client.keys('*');
  const text = await client.eval("return cjson.encode(cmsgpack.unpack(redis.call('GET', KEYS[1])))", 1, name);
  assert.match(`${text}`, /^\[false,"minute 60000 interval",1,\d{13},"day 86400000 interval",1,\d{13}\]$/);
});
