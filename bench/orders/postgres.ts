import { createPostgresOrderStore } from 'store-orders/postgres';
import { startPostgres } from '../../test/support/postgres-server.js';
import { cpuUsWithChildren } from '../processes/child.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { TEN } from '../servers/orders.js';

const CONNECTIONS = 10;
const CALLERS = 64;
const ROUNDS = 5;
const ORDERS = isQuick ? 2_000 : 100_000;

type Way = readonly [name: string, callers: number, work: () => Promise<unknown>];

const BY_HAND = 'an `UPDATE` by hand, 64 at a time';
/**
 * Measures the PostgreSQL store without HTTP, over a pool of ten connections. Compares it with one
 * `UPDATE` for each cancel.
 */
export async function postgres(): Promise<readonly Table[]> {
  // Autovacuum would run in some rounds and not in others.
  const server = await startPostgres('autovacuum=off');

  async function openStore(schema: string) {
    // Idle connections stay open, because the processor time of a connection's process can be read
    // only while the connection is open.
    const pool = server.pool({ schema, max: CONNECTIONS, idleTimeoutMillis: 0 });
    const orders = createPostgresOrderStore(pool);
    await orders.migrate();
    return { pool, orders };
  }

  try {
    const [ours, byHand, ten] = [await openStore('ours'), await openStore('by_hand'), await openStore('ten')];
    const pending = Array.from({ length: ORDERS }, (_, id) => ({ id, petId: id % 97, quantity: 1 }));
    for (const store of [ours.orders, byHand.orders]) await store.put(pending);
    await ten.orders.put(TEN);
    const text = "UPDATE store_orders SET status = 'cancelled' WHERE id = $1 AND status = 'pending'";
    const [ourId, byHandId] = [counter(), counter()];
    const cancel = () => ours.orders.cancel(ourId());
    const update = (name?: string) => byHand.pool.query({ name, text, values: [`${byHandId()}`] });
    return await compare(
      () => cpuUsWithChildren(server.pid()),
      [
        [BY_HAND, CALLERS, () => update()],
        ['the same as a named statement', CALLERS, () => update('cancel')],
        ['the store, cancels, 64 at a time', CALLERS, cancel],
        ['the store, one cancel at a time', 1, cancel],
        ['the store, lists of ten orders, 64 at a time', CALLERS, async () => ten.orders.list()],
        ['the store, one list of ten orders at a time', 1, async () => ten.orders.list()],
      ],
    );
  } finally {
    await server.stop();
  }
}

function counter(): () => bigint {
  let next = 0n;
  return () => next++;
}

async function compare(serverUs: () => number, ways: readonly Way[]): Promise<readonly Table[]> {
  const figures = ways.map(() => ({ rates: [] as number[], ours: [] as number[], servers: [] as number[] }));
  for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
    for (const [index, [, callers, work]] of ways.entries()) {
      const each = (callers === 1 ? 500 : 100) / (isQuick ? 50 : 1);
      const [startMs, ourUs, theirUs] = [performance.now(), process.cpuUsage(), serverUs()];
      await Promise.all(
        Array.from({ length: callers }, async () => {
          for (let i = 0; i < each; i++) await work();
        }),
      );
      const { user, system } = process.cpuUsage(ourUs);
      const count = each * callers;
      // The first round is a warm-up. Its figures are not used.
      if (round === 0) continue;
      figures[index]?.rates.push((count * 1_000) / (performance.now() - startMs));
      figures[index]?.ours.push((user + system) / count);
      figures[index]?.servers.push((serverUs() - theirUs) / count);
    }
  }
  const byHand = figures[ways.findIndex(([name]) => name === BY_HAND)]?.rates ?? [];
  return [
    {
      title: 'Statements a second over a pool of 10 connections to PostgreSQL, without HTTP',
      head: [
        'way',
        'a second',
        'ratio to an `UPDATE` by hand (least–most)',
        'µs of processor time per call, in this process',
        'µs of processor time per call, in PostgreSQL',
      ],
      headlines: [2],
      rows: ways.map(([name], index) => {
        const { rates = [], ours = [], servers = [] } = figures[index] ?? {};
        return [name, whole(median(rates)), ratio(rates, byHand), whole(median(ours)), whole(median(servers))];
      }),
    },
  ];
}
