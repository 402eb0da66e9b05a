import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPlan, perDay, perMinute } from 'store-orders';
import { createRedisLimiter } from 'store-orders/redis';
import { skip, startServer } from './support/server.js';

const PLAN = createPlan({ name: 'plan', policies: [perMinute(60), perDay(1_000)] });

describe('a Redis value that is not a valid record', { skip }, () => {
  for (const [what, ...spoil] of [
    ['a list', 'LPUSH', 'x'],
    ['a string', 'SET', 'hello'],
    ['an empty string', 'SET', ''],
    ['a record without its plan', 'SET', '0'.repeat(32)],
    ['a record whose ban has too few numbers', 'APPEND', '!1 2!'],
  ] as const) {
    test(`${what} is discarded without affecting other keys`, async (t) => {
      const server = await startServer();
      t.after(() => server.stop());
      const { client } = server;
      const limiter = createRedisLimiter({ send: (command) => client.call(...command), deadlineMs: 10_000 });
      await limiter.take('spoilt', PLAN);
      const [name = ''] = await client.keys('*');
      const [command, value] = spoil;
      if (command !== 'APPEND') await client.del(name);
      await client.call(command, name, value);
      for (const remaining of [59, 58]) {
        const { windows } = await limiter.take('spoilt', PLAN);
        assert.equal(windows[0]?.remaining, remaining);
        assert.equal(limiter.mode, 'shared');
      }
    });
  }
});
