import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { connectRedis, type RedisServer, skip, startRedis } from '../../support/redis-server.js';

const AFTER = 20;

let server: RedisServer | undefined;

before(async () => {
  if (!skip) server = await startRedis();
});

after(() => server?.stop());

for (const limiters of [1, 4, 10]) {
  test(`without the cache of refusals, ${limiters} limiters together ban a key at exactly its ${AFTER}th refusal that counts`, {
    skip,
  }, async (t) => {
    assert.ok(server);
    const { port } = server;
    const clients = Array.from({ length: limiters }, () => connectRedis(port));
    t.after(() => clients.map((client) => client.disconnect()));
    const options = { prefix: `${limiters}:`, deadlineMs: 10_000, refusalCacheMs: 0 };
    const all = clients.map((client) => createRedisLimiter({ ...options, send: (command) => client.call(...command) }));
    const [first = assert.fail()] = all;
    const plan = createPlan({ name: 'strict', policies: [perDay(1)], ban: { after: AFTER, graceMs: 1 } });
    await first.take('abuser', plan);
    await first.take('abuser', plan);
    await sleep(10);
    const decisions = await Promise.all(
      Array.from({ length: 10 * AFTER }, (_, index) => all[index % all.length]?.take('abuser', plan)),
    );
    const refused = decisions.filter((decision) => decision?.verdict === 'over_quota').length;
    const banned = decisions.filter((decision) => decision?.verdict === 'banned').length;
    // The refusal that starts the ban has the verdict "banned".
    assert.deepEqual([refused, banned], [AFTER - 1, 9 * AFTER + 1]);
    assert.equal(new Set(decisions.map((decision) => decision?.inForce.resetAtMs)).size, 1);
  });
}
