import {
  makeDurable,
  migrate,
  opening,
  prepare,
  type Schemas,
  type SqliteDatabase,
} from '../../databases/sqlite/database.js';
import type { WriteQueue } from '../../databases/sqlite/write-queue.js';
import type { CancelOutcome, ShipOutcome } from '../cancellation.js';
import type { OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrderRecord } from '../record.js';
import type { ListedOrders, OwnedOrderStore, PutOptions, PutOutcome } from '../store.js';
import { createSnapshots } from './list.js';
import { ORDERS_SCHEMA, recordOf } from './table.js';
import type { OrderWrites } from './writes.js';

/** {@link OwnedOrderStore} in a SQLite file: what was answered is on disk. */
export interface SqliteOrderStore extends OwnedOrderStore {
  /**
   * Frozen: an array, or batches when there are more than 500 and the store can open its file again. It shows what this
   * store has put at once, and what another process has put a tenth of a second later at most.
   */
  list(): ListedOrders;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): OrderRecord | undefined;
  ship(id: OrderId): Promise<ShipOutcome>;
  close(): Promise<void>;
}

/** Makes a file that was just opened one of this store's, with other parts' tables beside it, and durable. */
export function prepareFile(database: SqliteDatabase, otherSchemas: Schemas = {}): void {
  opening(database, () => {
    migrate(database, { ...ORDERS_SCHEMA, ...otherSchemas });
    makeDurable(database);
  });
}

/** The store that reads from `database`, writes through `queue`, and where it can `open` the file again streams a long list. */
export function storeOver(
  database: SqliteDatabase,
  queue: WriteQueue<OrderWrites>,
  open?: () => SqliteDatabase,
): SqliteOrderStore {
  const { list, changed } = createSnapshots(database, open);
  const selectOne = prepare(database, 'SELECT * FROM orders WHERE id = ?');
  return {
    list,
    cancel: (id) => queue.write('cancel', id),
    ship: (id) => queue.write('ship', id),

    async put(orders, { replace = false } = {}) {
      try {
        return await queue.write('put', Array.from(orders, toOrderRecord), replace);
      } finally {
        changed();
      }
    },

    get(id) {
      const row = selectOne.get(id);
      return row && recordOf(row);
    },

    close: () => queue.idle(),
  };
}
