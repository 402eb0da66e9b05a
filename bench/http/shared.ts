import { createPostgresOrderStore } from 'store-orders/postgres';
import { CANCEL, LIST, load, MISS } from '../load/load.js';
import { startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { startPostgres } from '../processes/postgres-server.js';
import { startRedis } from '../processes/redis-server.js';
import { median, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { FIRST_PENDING_ID, TEN } from '../servers/orders.js';

const CONNECTIONS = 64;
const ROUNDS = 5;
/**
 * The number of pending orders, more than a round can cancel. These orders are stored only after
 * the lists are measured, so the lists have ten orders.
 */
const PENDING = isQuick ? 10 : 40_000;

/**
 * Measures the processor time of a request in the server, in PostgreSQL, which has the orders, and
 * in Redis, which counts quotas.
 */
export async function shared(): Promise<Table> {
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  try {
    const orders = createPostgresOrderStore(await postgres.pool('public', 1));
    await orders.migrate();
    await orders.put(TEN);
    const server = await startServer('shared', postgres.host, `${redis.port}`);
    const parts = [server, redis, postgres];
    const rows: string[][] = [];
    for (const request of [LIST, MISS, CANCEL]) {
      const rates: number[] = [];
      const costs = parts.map((): number[] => []);
      for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
        if (request === CANCEL) {
          const pending = Array.from({ length: PENDING }, (_, index) => ({ id: FIRST_PENDING_ID + index }));
          await orders.put(pending, { replace: true });
        }
        const fromUs = parts.map((part) => part.cpuUs());
        const { answers, perSecond } = await load({ server, request, connections: CONNECTIONS, seconds: 1 });
        // The first round warms up and does not count.
        if (round === 0) continue;
        rates.push(perSecond);
        for (const [index, part] of parts.entries()) {
          costs[index]?.push((part.cpuUs() - (fromUs[index] ?? Number.NaN)) / answers);
        }
      }
      rows.push([request.name, whole(median(rates)), ...costs.map((values) => median(values).toFixed(0))]);
    }
    server.stop();
    return {
      title: `\`nodeHandler\` over PostgreSQL and Redis, ${CONNECTIONS} keep-alive connections`,
      head: ['request', 'a second', 'µs of a core each', "µs of Redis's core", "µs of PostgreSQL's cores"],
      rows,
    };
  } finally {
    await redis.stop();
    await postgres.stop();
  }
}
