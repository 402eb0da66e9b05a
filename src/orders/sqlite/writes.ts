import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { type CancelOutcome, cancelOutcome, type OrderStatus, type ShipOutcome, shipOutcome } from '../cancellation.js';
import type { OrderId } from '../order.js';
import type { OrderRecord } from '../record.js';
import { firstTaken, type PutOutcome } from '../store.js';
import { COLUMN_NAMES, COUNT_REVISION, valuesOf } from './table.js';

/** The functions that write orders. The caller runs each of them inside a transaction. */
export interface OrderWrites {
  cancel(id: OrderId): CancelOutcome;
  ship(id: OrderId): ShipOutcome;
  put(records: readonly OrderRecord[], replace: boolean): PutOutcome;
}

/** Prepares the functions that write to a database. Its tables must exist. */
export function prepareWrites(database: SqliteDatabase): OrderWrites {
  const selectStatus = prepare(database, 'SELECT status FROM orders WHERE id = ?');
  const updateStatus = prepare(database, 'UPDATE orders SET status = ? WHERE id = ?');
  const upsert = prepare(
    database,
    `INSERT OR REPLACE INTO orders (${COLUMN_NAMES}) VALUES (${COLUMN_NAMES.map(() => '?')})`,
  );
  const countRevision = prepare(database, COUNT_REVISION);

  function statusOf(id: OrderId): OrderStatus | undefined {
    const status = selectStatus.get(id)?.['status'];
    return status === undefined ? undefined : String(status);
  }

  return {
    cancel(id) {
      const outcome = cancelOutcome(statusOf(id));
      if (outcome === 'cancelled') updateStatus.run('cancelled', id);
      return outcome;
    },

    ship(id) {
      const outcome = shipOutcome(statusOf(id));
      if (outcome === 'shipped') updateStatus.run('shipped', id);
      return outcome;
    },

    put(records, replace) {
      const id = replace ? undefined : firstTaken(records, (id) => statusOf(id) !== undefined);
      if (id !== undefined) return { outcome: 'exists', id };
      for (const record of records) upsert.run(...valuesOf(record));
      if (records.length > 0) countRevision.run();
      return { outcome: 'stored', count: new Set(records.map(({ id }) => id)).size };
    },
  };
}
