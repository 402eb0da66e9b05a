import { suite, test } from 'node:test';
import { createRedisLimiter } from 'store-orders/redis';
import { createManualClock, type OpenRateLimiter, rateLimiterSuite } from 'store-orders/testing';
import { skip } from '../../support/redis-server.js';
import { useRedis } from './support/redis.js';

const redis = useRedis();
let opened = 0;

/**
 * Each limiter has keys of its own, and a deadline so long that a busy machine does not look like a
 * failing server. Every refusal counts towards a ban, because the server decides on each request.
 */
function open(options: Partial<Parameters<typeof createRedisLimiter>[0]> = {}) {
  const client = redis();
  const own = { prefix: `${opened++}:`, deadlineMs: 30_000, refusalCacheMs: 0 };
  return createRedisLimiter({ send: (command) => client.call(...command), ...own, ...options });
}

const limiters: Readonly<Record<string, OpenRateLimiter>> = {
  'the Redis limiter with a manual clock'() {
    const clock = createManualClock();
    return { limiter: open({ clock }), advance: clock.advance };
  },
  'the Redis limiter with the clock of the Redis server': () => ({ limiter: open() }),
};

for (const [name, open] of Object.entries(limiters)) {
  suite(name, { skip }, () => {
    for (const { name, run } of rateLimiterSuite(open)) test(name, { skip }, run);
  });
}
