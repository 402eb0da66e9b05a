import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerOf, issueKey } from '../../../program/support/program.js';
import { look } from './found.js';

/**
 * The quota of the key, which no test uses up. The tokens left show how many requests were counted.
 */
export const QUOTA = 100_000_000;

export type OrderFile = Awaited<ReturnType<typeof createOrderFile>>;

/**
 * The ids are consecutive, from 2^53 up. Tests cancel only orders with odd ids. A server that
 * rounds ids would cancel an order with an even id, which no client has requested.
 */
const FIRST_ID = 2n ** 53n;

/** Creates a database with pending orders and one key. Several servers use it, one after the other. */
export async function createOrderFile(cwd: string, orders: number) {
  const lines = Array.from({ length: 2 * orders }, (_, index) => `{"id":${FIRST_ID + BigInt(index)}}\n`);
  writeFileSync(join(cwd, 'orders.ndjson'), lines.join(''));
  await answerOf(['orders', 'import', 'orders.ndjson'], { cwd });
  const key = await issueKey(cwd, 'enterprise', '--per-minute', `${QUOTA}`, '--per-day', `${QUOTA}`);
  let given = 0;
  return {
    cwd,
    key,

    /** Returns the ids of more pending orders, and never returns an id twice. */
    next(count: number): readonly bigint[] {
      if (given + count > orders) throw new RangeError(`the file has only ${orders} orders to cancel`);
      const ids = Array.from({ length: count }, (_, index) => FIRST_ID + 1n + 2n * BigInt(given + index));
      given += count;
      return ids;
    },

    /** Reads the file, while a server uses it. */
    look: () => look(join(cwd, 'store-orders.db')),
  };
}
