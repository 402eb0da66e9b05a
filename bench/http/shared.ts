import { createPostgresOrderStore } from 'store-orders/postgres';
import { startPostgres } from '../../test/support/postgres-server.js';
import { startRedis } from '../../test/support/redis-server.js';
import { ask, CANCEL, LIST, type LoadRequest, load, MISS } from '../load/load.js';
import { type Child, cpuUsOf, cpuUsWithChildren, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { FIRST_PENDING_ID, TEN } from '../servers/orders.js';

const CONNECTIONS = 64;
const ROUNDS = 7;
/**
 * The number of pending orders to cancel: more than a server can cancel in a round. They are stored
 * only after the lists have been measured, because each of those lists should contain just the
 * orders of `TEN`.
 */
const PENDING = isQuick ? 10 : 40_000;

/**
 * The service should respond to at least `AIM` times as many requests per second as Fastify. In
 * each process (server, Redis, PostgreSQL), a request should take at most 1/`AIM` of the processor
 * time that it takes with Fastify.
 */
const AIM = 1.3;

const SERVERS = [
  ['store-orders, `nodeHandler`', 'shared', 'ours'],
  ['Fastify, `pg`, rate-limiter-flexible', 'rivals/fastify-shared', 'by_hand'],
] as const;

/**
 * Measures the processor time per request in the server, in PostgreSQL (orders) and in Redis
 * (quotas). Compares it with a Fastify server that does the same job without this library.
 */
export async function shared(): Promise<Table> {
  // Autovacuum would run in some rounds and not in others.
  const [postgres, redis] = await Promise.all([startPostgres('autovacuum=off'), startRedis()]);
  const cpuUsOfBackends = [() => cpuUsOf(`${redis.child.pid}`), () => cpuUsWithChildren(postgres.pid())];
  try {
    const subjects = await Promise.all(
      SERVERS.map(async ([name, file, schema]) => {
        // Idle connections stay open, because the processor time of a connection's process can be
        // read only while the connection is open.
        const orders = createPostgresOrderStore(postgres.pool({ schema, max: 1, idleTimeoutMillis: 0 }));
        await orders.migrate();
        await orders.put(TEN);
        const server = await startServer(file, postgres.connection.host, `${redis.port}`, schema);
        return { name, orders, server, cpuUsOfProcesses: [server.cpuUs, ...cpuUsOfBackends] };
      }),
    );
    const servers = subjects.map(({ server }) => server);
    for (const request of [LIST, MISS]) await expectSameBodies(servers, request);
    const rows: string[][] = [];
    for (const request of [LIST, MISS, CANCEL]) {
      // The first array has the requests per second. Each further array has the processor time per
      // request of one process.
      const figures = subjects.map(({ cpuUsOfProcesses }): number[][] => [[], ...cpuUsOfProcesses.map(() => [])]);
      for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
        for (const [index, { orders, server, cpuUsOfProcesses }] of subjects.entries()) {
          if (request === CANCEL) {
            const pending = Array.from({ length: PENDING }, (_, place) => ({ id: FIRST_PENDING_ID + place }));
            await orders.put(pending, { replace: true });
          }
          const fromUs = cpuUsOfProcesses.map((read) => read());
          const { answers, perSecond } = await load({ server, request, connections: CONNECTIONS, seconds: 1 });
          const costs = cpuUsOfProcesses.map((read, place) => (read() - (fromUs[place] ?? Number.NaN)) / answers);
          // The first round is a warm-up. Its figures are not used.
          if (round === 0) continue;
          for (const [place, value] of [perSecond, ...costs].entries()) figures[index]?.[place]?.push(value);
        }
      }
      for (const [index, { name }] of subjects.entries()) {
        rows.push([request.name, name, ...(figures[index] ?? []).map((values) => whole(median(values)))]);
      }
      const [[rates = [], ...costs] = [], [theirRates = [], ...theirCosts] = []] = figures;
      const ahead = costs.map((values, place) => ratio(theirCosts[place] ?? [], values));
      rows.push([request.name, `ahead, aim ${AIM}`, ratio(rates, theirRates), ...ahead]);
    }
    for (const server of servers) server.stop();
    return {
      title: `HTTP requests to servers that use PostgreSQL and Redis, over ${CONNECTIONS} keep-alive connections`,
      head: [
        'request',
        'server',
        'a second',
        'µs of processor time per request, HTTP server',
        'µs of processor time per request, Redis',
        'µs of processor time per request, PostgreSQL',
      ],
      headlines: [2],
      rows,
    };
  } finally {
    await redis.stop();
    await postgres.stop();
  }
}

async function expectSameBodies(servers: readonly Child[], request: LoadRequest): Promise<void> {
  const bodies = await Promise.all(servers.map(async (server) => (await ask(server, request)).split('\r\n\r\n')[1]));
  if (new Set(bodies).size !== 1) throw new Error(`${request.name}: different bodies\n${bodies.join('\n')}`);
}
