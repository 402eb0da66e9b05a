import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostgresOrderStore, withNamedStatements } from 'store-orders/postgres';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { isQuick, rounds } from '../processes/pace.js';
import { startPostgres } from '../processes/postgres-server.js';
import { median, printSpread, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';
import { TEN } from '../servers/orders.js';

const CONNECTIONS = 10;
const CALLERS = 64;
const ROUNDS = 5;
const ORDERS = isQuick ? 2_000 : 100_000;

type Way = readonly [name: string, callers: number, work: () => Promise<unknown>];

const GROUPED = 'PostgreSQL, cancels, 64 at a time';
const BY_HAND = 'an `UPDATE` by hand, 64 at a time';
const NAMED_BY_HAND = 'a named `UPDATE` by hand, 64 at a time';
/**
 * The aims for {@link GROUPED}: at least `AIM_TIMES` times as many cancels per second as with one
 * plain `UPDATE` per cancel, and at most `AIM_US` µs of PostgreSQL's processor time per cancel.
 */
const [AIM_TIMES, AIM_US] = [2, 67];

/**
 * Measures PostgreSQL statements without HTTP, over a pool of ten connections. Compares them with
 * writes to the disk and with SQLite.
 */
export async function postgres(): Promise<readonly Table[]> {
  const directory = mkdtempSync(join(tmpdir(), 'store-orders-bench-'));
  const server = await startPostgres();
  const disk = await open(join(directory, 'disk'), 'w');
  const sqlite = openSqliteOrderStore(join(directory, 'orders.db'));

  async function openStore(schema: string) {
    const pool = await server.pool(schema, CONNECTIONS);
    const orders = createPostgresOrderStore(pool);
    await orders.migrate();
    return { pool, orders, named: createPostgresOrderStore(withNamedStatements(pool)) };
  }

  try {
    const [ours, byHand, ten] = [await openStore('ours'), await openStore('by_hand'), await openStore('ten')];
    const pending = Array.from({ length: ORDERS }, (_, id) => ({ id, petId: id % 97, quantity: 1 }));
    for (const store of [ours.orders, byHand.orders, sqlite]) await store.put(pending);
    await ten.orders.put(TEN);
    const page = Buffer.alloc(4_096);
    const text = "UPDATE store_orders SET status = 'cancelled' WHERE id = $1 AND status = 'pending'";
    const [sqliteId, ourId, byHandId] = [counter(), counter(), counter()];
    const cancel = () => ours.orders.cancel(ourId());
    const update = (name?: string) => byHand.pool.query({ name, text, values: [`${byHandId()}`] });
    return await compare(server.cpuUs, [
      ['the disk alone: append 4 KiB, then fdatasync', 1, () => disk.write(page).then(() => disk.datasync())],
      ['SQLite on its own thread, cancels, 64 at a time', CALLERS, async () => sqlite.cancel(sqliteId())],
      ['PostgreSQL, one cancel at a time', 1, cancel],
      ['PostgreSQL, one cancel at a time, as a named statement', 1, () => ours.named.cancel(ourId())],
      [GROUPED, CALLERS, cancel],
      [BY_HAND, CALLERS, () => update()],
      [NAMED_BY_HAND, CALLERS, () => update('cancel')],
      ['PostgreSQL, cancels of an order that does not exist, 64 at a time', CALLERS, () => ours.orders.cancel(-1n)],
      ['PostgreSQL, lists of ten orders, 64 at a time', CALLERS, () => ten.orders.list()],
      ['PostgreSQL, one list of ten orders at a time', 1, () => ten.orders.list()],
      ['PostgreSQL, one list of ten orders at a time, as a named statement', 1, () => ten.named.list()],
      ['a named `SELECT 1`, one at a time', 1, () => ten.pool.query({ name: 'one', text: 'SELECT 1' })],
    ]);
  } finally {
    await sqlite.close();
    await disk.close();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
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
  const figuresOf = (wanted: string) => figures[ways.findIndex(([name]) => name === wanted)];
  const { rates: grouped = [], servers: groupedUs = [] } = figuresOf(GROUPED) ?? {};
  const floors = figures[0]?.rates ?? [];
  return [
    {
      title: 'Statements a second over a pool of 10 connections to PostgreSQL, without HTTP',
      head: [
        'way',
        'a second',
        'ratio to the disk alone (least–most)',
        'µs of processor time per call, in this process',
        'µs of processor time per call, in PostgreSQL',
      ],
      rows: ways.map(([name], index) => {
        const { rates = [], ours = [], servers = [] } = figures[index] ?? {};
        return [name, whole(median(rates)), ratio(rates, floors), whole(median(ours)), whole(median(servers))];
      }),
    },
    {
      title: GROUPED,
      head: ['', 'aim', 'measured (least–most)'],
      rows: [
        ...[BY_HAND, NAMED_BY_HAND].map((way) => [
          `cancels a second, ratio to ${way}`,
          `at least ${AIM_TIMES}`,
          ratio(grouped, figuresOf(way)?.rates ?? []),
        ]),
        ["µs of PostgreSQL's processor time per cancel", `at most ${AIM_US}`, printSpread(groupedUs)],
      ],
    },
  ];
}
