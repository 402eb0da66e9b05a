import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { answerOf, type IssuedKey, issueKey } from '../../server/support/program.js';

/**
 * The quota of the key, which no test uses up. The tokens left show how many requests were counted.
 */
export const QUOTA = 100_000_000;

/** A database with pending orders and one key. Several servers use it, one after the other. */
export interface OrderFile {
  readonly cwd: string;
  readonly key: IssuedKey;
  /** Returns the ids of more pending orders, and never returns an id twice. */
  next(count: number): readonly bigint[];
  /**
   * Reads the file over a connection of its own. Call it only while a server has the file open.
   * Otherwise this would be the last connection, and closing it would change the file: SQLite then
   * copies the write-ahead log into it.
   */
  look(): Finding;
}

interface Finding {
  /** The report of SQLite's integrity check: `ok` for a sound file. */
  readonly integrity: string;
  readonly cancelled: ReadonlySet<bigint>;
}

/**
 * The ids are consecutive, from 2^53 up. Tests cancel only orders with odd ids. A server that
 * rounds ids would cancel an order with an even id, which no client has requested.
 */
const FIRST_ID = 2n ** 53n;

export async function createOrderFile(cwd: string, orders: number): Promise<OrderFile> {
  const lines = Array.from({ length: 2 * orders }, (_, index) => `{"id":${FIRST_ID + BigInt(index)}}\n`);
  writeFileSync(join(cwd, 'orders.ndjson'), lines.join(''));
  await answerOf(['orders', 'import', 'orders.ndjson'], { cwd });
  const key = await issueKey(cwd, 'enterprise', '--per-minute', `${QUOTA}`, '--per-day', `${QUOTA}`);
  let given = 0;
  return {
    cwd,
    key,

    next(count) {
      if (given + count > orders) throw new RangeError(`the file has only ${orders} orders to cancel`);
      const ids = Array.from({ length: count }, (_, index) => FIRST_ID + 1n + 2n * BigInt(given + index));
      given += count;
      return ids;
    },

    look() {
      const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
      try {
        const [checked] = database.prepare('PRAGMA integrity_check').all();
        // Numbers are read as text, which every driver returns exactly.
        const rows = database.prepare("SELECT CAST(id AS TEXT) AS id FROM orders WHERE status = 'cancelled'").all();
        return {
          integrity: String(column(checked, 'integrity_check')),
          cancelled: new Set(rows.map((row) => BigInt(String(column(row, 'id'))))),
        };
      } finally {
        database.close();
      }
    },
  };
}

function column(row: unknown, name: string): unknown {
  return typeof row === 'object' && row !== null ? Reflect.get(row, name) : undefined;
}
