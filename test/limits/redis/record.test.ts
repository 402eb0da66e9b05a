import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Redis } from 'ioredis';
import { createPlan, type Plan, perDay, perMinute } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { type Server, skip, startServer } from './support/server.js';

const PLAN = createPlan({ name: 'plan', policies: [perMinute(60), perDay(1_000)], ban: { after: 3, graceMs: 0 } });
const SMALL = createPlan({ name: 'small', policies: [perDay(1)], ban: { after: 3, graceMs: 0 } });

describe('a damaged record', { skip }, () => {
  let server: Server | undefined;
  before(async () => {
    if (!skip) server = await startServer();
  });
  after(() => server?.stop());

  const DAMAGE: Readonly<Record<string, (client: Redis, name: string, record: Buffer) => Promise<unknown>>> = {
    'has another type': async (client, name) => {
      await client.del(name);
      await client.hset(name, 'field', 'value');
    },
    'is empty': (client, name) => client.set(name, ''),
    'is a string': (client, name) => client.set(name, 'hello'),
    'lacks its last byte': (client, name, record) => client.set(name, record.subarray(0, -1)),
    'lacks its first byte': (client, name, record) => client.set(name, record.subarray(1)),
    'lacks a window': (client, name, record) => client.set(name, record.subarray(33)),
    'follows other bytes': (client, name, record) => client.set(name, Buffer.concat([Buffer.alloc(33), record])),
    'has a ban with too few numbers': (client, name) => client.append(name, '!1 2!'),
    'has a ban with a word in place of a number': (client, name) => client.append(name, '!1 2 3 4 five 6!'),
    'has a time that is not a whole number of milliseconds': (client, name, record) => {
      record.writeDoubleLE(0.5, 8);
      return client.set(name, record);
    },
    'has NaN as the number of taken tokens': (client, name, record) => {
      record.writeDoubleLE(Number.NaN, 0);
      return client.set(name, record);
    },
    'has a negative number of taken tokens': (client, name, record) => {
      record.writeDoubleLE(-5, 0);
      return client.set(name, record);
    },
  };

  let keys = 0;
  for (const [what, damage] of Object.entries(DAMAGE)) {
    for (const [whose, before, after] of [
      ['the same plan', PLAN, PLAN],
      ['another plan', PLAN, SMALL],
      ['a refused key', SMALL, SMALL],
    ] as const) {
      test(`that ${what} is discarded, for ${whose}`, async () => {
        assert.ok(server);
        const { client } = server;
        const limiter = createRedisLimiter({ send: (command) => client.call(...command), deadlineMs: 10_000 });
        const key = `key ${keys++}`;
        await client.flushall();
        await limiter.take(key, before);
        if (before === SMALL) await limiter.take(key, before);
        const [name = ''] = await client.keys('*');
        await damage(client, name, (await client.getBuffer(name)) ?? Buffer.alloc(0));
        assert.equal(await limiter.inspect(key), undefined, 'nothing is remembered');
        const other = createRedisLimiter({ send: (command) => client.call(...command), deadlineMs: 10_000 });
        const { verdict, windows } = await other.take(key, after);
        assert.deepEqual([verdict, windows[0]?.remaining], ['within_quota', remainingOf(after)]);
        assert.equal(other.mode, 'shared', 'the limiter still counts all keys in Redis');
      });
    }
  }

  function remainingOf({ policies }: Plan): number {
    return (policies[0]?.quota ?? 0) - 1;
  }

  test('if the Redis script fails, but not because of a damaged record, the limiter counts in this process', async () => {
    const sent: string[] = [];
    const limiter = createRedisLimiter({
      deadlineMs: 10_000,
      async send([command]) {
        sent.push(command);
        throw new Error('ERR user_script:7: attempt to compare nil with number; bad argument #1; WRONGTYPE');
      },
    });
    await limiter.take('key', PLAN);
    assert.deepEqual([sent, limiter.mode], [['EVALSHA'], 'local']);
  });
});
