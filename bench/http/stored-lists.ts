import { createPostgresOrderStore } from 'store-orders/postgres';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { startPostgres } from '../../test/support/postgres-server.js';
import { startRedis } from '../../test/support/redis-server.js';
import { temporaryFile } from '../../test/support/temporary-file.js';
import { LIST, load } from '../load/load.js';
import { cpuUsWithChildren, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';

const ROUNDS = 2;
const CONNECTIONS = 4;
const SIZES = isQuick ? [10] : [10, 1_000, 100_000];

/**
 * Measures lists of several lengths: over PostgreSQL with quotas in Redis, over a SQLite file with
 * quotas in memory, and of a Fastify server with `pg` and quotas in Redis.
 */
export async function storedLists(): Promise<Table> {
  const [postgres, redis] = await Promise.all([startPostgres('autovacuum=off'), startRedis()]);
  const rows: string[][] = [];
  try {
    for (const size of SIZES) {
      const orders = Array.from({ length: size }, (_, id) => ({
        id: 1_024_801 + id,
        petId: id % 97,
        quantity: 1 + (id % 30),
        shipDate: '2026-07-16T00:00:00Z',
        complete: id % 2 === 0,
      }));
      const schema = `s${size}`;
      const inPostgres = createPostgresOrderStore(postgres.pool({ schema, max: 1, idleTimeoutMillis: 0 }));
      await inPostgres.migrate();
      await inPostgres.put(orders);
      const seconds = size > 1_000 ? 10 : 2;
      const file = temporaryFile();
      const inFile = openSqliteOrderStore(file);
      await inFile.put(orders);
      await inFile.close();
      const shared = [postgres.connection.host, `${redis.port}`, schema] as const;
      const subjects = [
        { name: 'store-orders, PostgreSQL and Redis', server: await startServer('shared', ...shared) },
        { name: 'store-orders, SQLite', server: await startServer('list-file', file) },
        { name: 'Fastify, `pg` and Redis', server: await startServer('rivals/fastify-shared', ...shared) },
      ];
      const figures = subjects.map(() => ({ rates: [] as number[], ours: [] as number[], engines: [] as number[] }));
      for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
        for (const [index, { server }] of subjects.entries()) {
          const [ownUs, engineUs] = [server.cpuUs(), cpuUsWithChildren(postgres.pid())];
          const { answers, perSecond } = await load({ server, request: LIST, connections: CONNECTIONS, seconds });
          // The first round is a warm-up. Its figures are not used.
          if (round === 0) continue;
          figures[index]?.rates.push(perSecond);
          figures[index]?.ours.push((server.cpuUs() - ownUs) / answers);
          figures[index]?.engines.push((cpuUsWithChildren(postgres.pid()) - engineUs) / answers);
        }
      }
      for (const { server } of subjects) server.stop();
      const rival = figures.at(-1)?.rates ?? [];
      for (const [index, { name }] of subjects.entries()) {
        const { rates = [], ours = [], engines = [] } = figures[index] ?? {};
        const cells = [whole(median(rates)), ratio(rates, rival), whole(median(ours)), whole(median(engines))];
        rows.push([whole(size), name, ...cells]);
      }
    }
  } finally {
    await redis.stop();
    await postgres.stop();
  }
  return {
    title: `Lists of stored orders, over ${CONNECTIONS} keep-alive connections`,
    head: [
      'orders',
      'server',
      'a second',
      'ratio to Fastify (least–most)',
      'µs of processor time per list, HTTP server',
      'µs of processor time per list, PostgreSQL',
    ],
    headlines: [3],
    rows,
  };
}
