import { createPlan, type Plan, perDay, perMinute } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { isQuick } from '../processes/pace.js';
import { startRedis } from '../processes/redis-server.js';
import { whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { PLENTY } from '../servers/plenty.js';

const KEYS = isQuick ? 100 : 100_000;
const AT_ONCE = 64;

/**
 * Measures two costs of the Redis limiter: the memory per key in Redis, and the processor time of a
 * decision, in Redis and in this process.
 */
export async function redisKeys(): Promise<Table> {
  const once = createPlan({ name: 'once', policies: [perMinute(1), perDay(1_000)] });
  return {
    title: 'Cost of a key in Redis with a minute and a day window: 100,000 keys, two requests each, 64 at a time',
    head: [
      'key',
      'bytes according to `MEMORY USAGE`',
      'bytes according to `used_memory`',
      'CPU µs per decision, Node.js',
      'CPU µs per decision, Redis',
    ],
    rows: [
      ['within its quotas', ...(await measure(PLENTY))],
      ['refused once (Redis stores the refusal)', ...(await measure(once))],
    ],
  };
}

async function measure(plan: Plan): Promise<readonly string[]> {
  const server = await startRedis();
  try {
    const client = server.connect();
    const limiter = createRedisLimiter({ send: (command) => client.call(...command), deadlineMs: 10_000 });
    const usedBytes = async () => Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1]);
    const take = async (from: number) => {
      for (let n = from; n < KEYS; n += AT_ONCE) await limiter.take(`customer-${n}`, plan);
    };
    const takeAll = () => Promise.all(Array.from({ length: AT_ONCE }, (_, index) => take(index)));
    await limiter.take('customer-0', plan);
    const emptyBytes = await usedBytes();
    await takeAll();
    const [theirUs, ourUs] = [server.cpuUs(), process.cpuUsage()];
    await takeAll();
    const { user, system } = process.cpuUsage(ourUs);
    const spentUs = server.cpuUs() - theirUs;
    return [
      whole(Number(await client.memory('USAGE', String(await client.randomkey())))),
      whole(((await usedBytes()) - emptyBytes) / KEYS),
      ((user + system) / KEYS).toFixed(1),
      (spentUs / KEYS).toFixed(1),
    ];
  } finally {
    await server.stop();
  }
}
