import { createPostgresOrderStore } from 'store-orders/postgres';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { type Engine, startPostgres } from '../../test/support/postgres-server.js';
import { temporaryFile } from '../../test/support/temporary-file.js';
import { LIST, load } from '../load/load.js';
import { cpuUsWithChildren, startServer } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { manyInputs } from '../servers/orders.js';

const NAMES = ['store-orders, PostgreSQL', 'store-orders, SQLite', 'Fastify, `pg`'];
const [SQLITE, FASTIFY] = [1, 2];
const ROUNDS = 4;
const CONNECTIONS = 8;
/** The numbers of orders, and how long a round takes. Fastify sends few long lists a second. */
const SIZES = isQuick
  ? [{ size: 10, seconds: 1 }]
  : [
      { size: 10, seconds: 1 },
      { size: 1_000, seconds: 1 },
      { size: 100_000, seconds: 8 },
    ];

interface Measured {
  readonly rates: number[];
  /** The processor time per list, in microseconds, of the server and of PostgreSQL. */
  readonly ownUs: number[];
  readonly engineUs: number[];
}

/** Measures lists of several lengths over PostgreSQL, over SQLite, and of Fastify with `pg`. */
export async function storedLists(): Promise<Table> {
  const postgres = await startPostgres('autovacuum=off');
  const rows: string[][] = [];
  try {
    for (const { size, seconds } of SIZES) rows.push(...toRows(size, await measure(postgres, size, seconds)));
  } finally {
    await postgres.stop();
  }
  return {
    title: `Lists of stored orders, ${CONNECTIONS} keep-alive connections`,
    head: [
      'orders',
      'server',
      'a second',
      'ratio to Fastify (least–most)',
      'ratio to SQLite (least–most)',
      'µs of processor time per list, HTTP server',
      'µs of processor time per list, PostgreSQL',
    ],
    headlines: [3, 4],
    rows,
  };
}

async function measure(postgres: Engine, size: number, seconds: number): Promise<readonly Measured[]> {
  const [schema, file] = [`s${size}`, temporaryFile()];
  const inPostgres = createPostgresOrderStore(postgres.pool({ schema, max: 1 }));
  await inPostgres.migrate();
  await inPostgres.put(manyInputs(size));
  const inFile = openSqliteOrderStore(file);
  await inFile.put(manyInputs(size));
  await inFile.close();
  const shared = [postgres.connection.host, '', schema];
  const servers = await Promise.all([
    startServer('shared', ...shared),
    startServer('list-file', file),
    startServer('rivals/fastify-shared', ...shared),
  ]);
  const measured = servers.map((): Measured => ({ rates: [], ownUs: [], engineUs: [] }));
  for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
    for (const [index, server] of servers.entries()) {
      const [fromUs, engineFromUs] = [server.cpuUs(), cpuUsWithChildren(postgres.pid())];
      const { answers, perSecond } = await load({ server, request: LIST, connections: CONNECTIONS, seconds });
      // The first round is a warm-up. Its figures are not used.
      if (round === 0) continue;
      measured[index]?.rates.push(perSecond);
      measured[index]?.ownUs.push((server.cpuUs() - fromUs) / answers);
      measured[index]?.engineUs.push((cpuUsWithChildren(postgres.pid()) - engineFromUs) / answers);
    }
  }
  for (const { stop } of servers) stop();
  return measured;
}

function toRows(size: number, measured: readonly Measured[]): readonly string[][] {
  return measured.map(({ rates, ownUs, engineUs }, index) => [
    whole(size),
    NAMES[index] ?? '',
    whole(median(rates)),
    ratio(rates, measured[FASTIFY]?.rates ?? []),
    ratio(rates, measured[SQLITE]?.rates ?? []),
    whole(median(ownUs)),
    whole(median(engineUs)),
  ]);
}
