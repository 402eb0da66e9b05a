import { createPostgresOrderStore } from 'store-orders/postgres';
import { startPostgres } from '../../test/support/postgres-server.js';
import { isQuick, rounds } from '../processes/pace.js';
import { median, ratio, whole } from '../report/statistics.js';
import type { Table } from '../report/table.js';

const WRITERS = 8;
const ROUNDS = 7;
const ROUND_MS = isQuick ? 200 : 2_000;

/** What tells readers of a list that it has changed, as SQL that replaces the store's triggers. */
const WAYS: readonly (readonly [name: string, sql: string])[] = [
  ['nothing', 'ALTER TABLE store_orders DISABLE TRIGGER ALL'],
  ['the triggers of the store', 'SELECT 1'],
  [
    'a row with a counter',
    `ALTER TABLE store_orders DISABLE TRIGGER ALL;
    CREATE TABLE counter AS SELECT 0::bigint AS revision;
    CREATE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN UPDATE counter SET revision = revision + 1; RETURN NULL; END $$;
    CREATE TRIGGER counted AFTER INSERT ON store_orders FOR EACH STATEMENT EXECUTE FUNCTION count_change()`,
  ],
];

/** Measures what the revision of the list costs writers that each insert one order at a time. */
export async function writers(): Promise<Table> {
  const server = await startPostgres('autovacuum=off');
  try {
    const inserts = await Promise.all(
      WAYS.map(async ([, sql], index) => {
        const pool = server.pool({ schema: `way${index}`, max: WRITERS, idleTimeoutMillis: 0 });
        await createPostgresOrderStore(pool).migrate();
        await pool.query(sql);
        let id = 0;
        const text = "INSERT INTO store_orders (id, status) VALUES ($1, 'pending')";
        return () => pool.query({ name: 'insert', text, values: [`${id++}`] });
      }),
    );
    const rates: number[][] = WAYS.map(() => []);
    for (let round = isQuick ? 1 : 0; round <= rounds(ROUNDS); round++) {
      for (const [index, insert] of inserts.entries()) {
        const count = await countFor(ROUND_MS, insert);
        // The first round is a warm-up.
        if (round > 0) rates[index]?.push((count * 1_000) / ROUND_MS);
      }
    }
    const floor = rates[0] ?? [];
    return {
      title: `Transactions a second that each insert one order, from ${WRITERS} connections to PostgreSQL`,
      head: ['what raises the revision', 'a second', 'ratio to nothing (least–most)'],
      headlines: [2],
      rows: WAYS.map(([name], index) => {
        const way = rates[index] ?? [];
        return [name, whole(median(way)), ratio(way, floor)];
      }),
    };
  } finally {
    await server.stop();
  }
}

/** Returns how often all writers together have run `work` in this time. */
async function countFor(ms: number, work: () => Promise<unknown>): Promise<number> {
  const endMs = performance.now() + ms;
  let count = 0;
  const write = async () => {
    for (; performance.now() < endMs; count++) await work();
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return count;
}
