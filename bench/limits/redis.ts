import { RateLimiterRedis, type RateLimiterRes, RateLimiterUnion } from 'rate-limiter-flexible';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { connectRedis, startRedis } from '../../test/support/redis-server.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { DAY_MS, MINUTE_MS, PER_DAY, PER_MINUTE, PLENTY } from '../servers/plenty.js';

const ROUNDS = 21;
const ROUND_MS = isQuick ? 20 : 150;
const AT_ONCE = [64, 256] as const;
const KEYS = 1_000;

/**
 * Measures the decisions per second of `createRedisLimiter` and of rate-limiter-flexible, each over
 * one connection to the same Redis server. For both, the remaining quota of each decision is read.
 */
export async function redis(): Promise<Table> {
  const server = await startRedis();
  const [ours, theirs] = [server.client, connectRedis(server.port)];
  try {
    const limiter = createRedisLimiter({ send: (command) => ours.call(...command), deadlineMs: 10_000 });
    const used = createPlan({ name: 'used', policies: [perDay(1)], ban: false });
    const window = (keyPrefix: string, points: number, duration: number) =>
      new RateLimiterRedis({ storeClient: theirs, keyPrefix, points, duration });
    const union = new RateLimiterUnion(
      window('minute', PER_MINUTE, MINUTE_MS / 1_000),
      window('day', PER_DAY, DAY_MS / 1_000),
    );
    const ways = [
      ['rate-limiter-flexible, RateLimiterUnion', async (key: string) => leastOf(await union.consume(key))],
      ['`createRedisLimiter`', async (key: string) => (await limiter.take(key, PLENTY)).inForce.remaining],
      [
        '`createRedisLimiter`, all keys over their quota',
        async (key: string) => (await limiter.take(`used ${key}`, used)).inForce.remaining,
      ],
    ] as const;
    const rates = ways.map(() => AT_ONCE.map((): number[] => []));
    for (const [place, atOnce] of AT_ONCE.entries()) {
      for (let round = 0; round <= rounds(ROUNDS); round++) {
        for (const [index, [, take]] of ways.entries()) {
          const rate = await rateOf(take, atOnce);
          // The first round is a warm-up. Its figures are not used.
          if (round > 0) rates[index]?.[place]?.push(rate);
        }
      }
    }
    return {
      title: 'Rate-limit decisions per second over one connection to Redis, with a minute and a day window',
      head: ['limiter', ...AT_ONCE.flatMap((atOnce) => [`${atOnce} at a time`, `${atOnce}, ratio (least–most)`])],
      headlines: AT_ONCE.map((_, place) => 2 + 2 * place),
      rows: ways.map(([name], index) => [
        name,
        ...AT_ONCE.flatMap((_, place) => {
          const values = rates[index]?.[place] ?? [];
          return [whole(median(values)), ratio(values, rates[0]?.[place] ?? [])];
        }),
      ]),
    };
  } finally {
    theirs.disconnect();
    await server.stop();
  }
}

/** Returns how many requests remain in the window that has the fewest left. */
function leastOf(results: Readonly<Record<string, RateLimiterRes>>): number {
  return Math.min(...Object.values(results).map(({ remainingPoints }) => remainingPoints));
}

async function rateOf(take: (key: string) => Promise<number>, atOnce: number): Promise<number> {
  let made = 0;
  const beganMs = performance.now();
  async function ask(from: number): Promise<void> {
    for (let n = from; performance.now() - beganMs < ROUND_MS; n++) {
      if ((await take(`customer-${n % KEYS}`)) >= 0) made++;
    }
  }
  await Promise.all(Array.from({ length: atOnce }, (_, index) => ask(index * 13)));
  return (made * 1_000) / (performance.now() - beganMs);
}
