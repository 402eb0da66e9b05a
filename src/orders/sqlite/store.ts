import type { Write } from '../../databases/sqlite/write-queue.js';
import type { CancelOutcome, ShipOutcome } from '../cancellation.js';
import type { OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrderRecord } from '../record.js';
import type { ListedOrders, OwnedOrderStore, PutOptions, PutOutcome } from '../store.js';
import type { OrderWrites } from './writes.js';

/** {@link OwnedOrderStore} over a SQLite handle: what was answered is on disk. */
export interface SqliteOrderStore extends OwnedOrderStore {
  /**
   * A frozen array. It shows what this store has put at once, and what another process has put a tenth of a second later
   * at most.
   */
  list(): ListedOrders;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): OrderRecord | undefined;
  ship(id: OrderId): Promise<ShipOutcome>;
  close(): Promise<void>;
}

/** {@link OwnedOrderStore} in a SQLite file, read and written on threads of its own: what was answered is on disk. */
export interface SqliteFileOrderStore extends OwnedOrderStore {
  /**
   * Frozen: an array, or batches when there are more than 500. It shows what this store has put at once, and what another
   * process has put a tenth of a second later at most. While the disk hangs it is what was listed last.
   */
  list(): ListedOrders | Promise<ListedOrders>;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): Promise<OrderRecord | undefined>;
  ship(id: OrderId): Promise<ShipOutcome>;
  /** Resolves while the file can be read and written; rejects with why it cannot, such as a full disk. */
  probe(): Promise<void>;
  /** Rejects if the file cannot be closed because its disk does not answer. */
  close(): Promise<void>;
}

/** What both stores write, each write a part of the next commit. */
export function writesThrough(
  write: Write<OrderWrites>,
  changed: () => void,
): Pick<SqliteOrderStore, 'cancel' | 'ship' | 'put'> {
  return {
    cancel: (id) => write('cancel', id),
    ship: (id) => write('ship', id),

    async put(orders, { replace = false } = {}) {
      try {
        return await write('put', Array.from(orders, toOrderRecord), replace);
      } finally {
        changed();
      }
    },
  };
}
