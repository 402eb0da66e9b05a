import { type CancelOutcome, cancelOutcome } from 'store-orders/cancellation';
import type { SqliteDatabase } from 'store-orders/sqlite';

/**
 * Returns a function that cancels an order in the usual way: in a durable transaction of its own,
 * on the calling thread.
 */
export function cancelOneByOne(database: SqliteDatabase): (id: bigint) => CancelOutcome {
  database.exec('PRAGMA synchronous = FULL');
  const select = database.prepare('SELECT status FROM orders WHERE id = ?');
  const update = database.prepare("UPDATE orders SET status = 'cancelled' WHERE id = ?");
  return (id) => {
    database.exec('BEGIN IMMEDIATE');
    const row = select.get(id);
    const status = typeof row === 'object' && row !== null && 'status' in row ? String(row.status) : undefined;
    const outcome = cancelOutcome(status);
    if (outcome === 'cancelled') update.run(id);
    database.exec('COMMIT');
    return outcome;
  };
}
