import { after, before, suite, test } from 'node:test';
import { createRedisLimiter, type SendCommand } from 'store-orders/redis';
import { createManualClock, type OpenRateLimiter, rateLimiterSuite } from 'store-orders/testing';
import { connectRedis, type RedisServer, skip, startRedis } from '../../support/redis-server.js';

let server: RedisServer | undefined;
let client: ReturnType<typeof connectRedis> | undefined;
let opened = 0;

before(async () => {
  if (skip) return;
  server = await startRedis();
  client = connectRedis(server.port);
});

after(async () => {
  client?.disconnect();
  await server?.stop();
});

const send: SendCommand = async (command) => client?.call(...command);

/**
 * Each limiter has keys of its own, and a deadline so long that a busy machine does not look like a
 * failing server. Every refusal counts towards a ban, because the server decides on each request.
 */
const options = () => ({ send, prefix: `${opened++}:`, deadlineMs: 30_000, refusalCacheMs: 0 });

const limiters: Readonly<Record<string, OpenRateLimiter>> = {
  'the Redis limiter with a manual clock'() {
    const clock = createManualClock();
    return { limiter: createRedisLimiter({ ...options(), clock }), advance: clock.advance };
  },
  'the Redis limiter with the clock of the Redis server': () => ({ limiter: createRedisLimiter(options()) }),
};

for (const [name, open] of Object.entries(limiters)) {
  suite(name, { concurrency: true, skip }, () => {
    for (const { name, run } of rateLimiterSuite(open)) test(name, { skip }, run);
  });
}
