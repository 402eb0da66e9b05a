import { type CancelOutcome, cancelOutcome, type OrderStatus, type ShipOutcome, shipOutcome } from '../cancellation.js';
import type { Order, OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrder, toOrderRecords } from '../record.js';
import {
  firstConflict,
  isReplacing,
  type OrderArray,
  type OwnedOrderStore,
  type PutOptions,
  type PutOutcome,
  withVersion,
} from '../store.js';

/** An {@link OwnedOrderStore} in memory, with synchronous methods. */
export interface MemoryOrderStore extends OwnedOrderStore {
  /** Returns an array with a version. It is the same object until orders are put. */
  list(): OrderArray;
  cancel(id: OrderId): CancelOutcome;
  put(orders: Iterable<OrderInput>, options?: PutOptions): PutOutcome;
  get(id: OrderId): OrderRecord | undefined;
  ship(id: OrderId): ShipOutcome;
  close(): void;
}

interface Entry {
  readonly order: Order;
  status: OrderStatus;
}

/**
 * Creates an in-memory order store. Throws a TypeError that names the field if one of `orders` is
 * invalid, and a RangeError if an id occurs twice.
 *
 * @example
 * ```ts
 * import { createMemoryOrderStore } from 'store-orders/store';
 *
 * const store = createMemoryOrderStore([{ id: 9007199254740993n, petId: 7, quantity: 1 }]);
 * store.cancel(9007199254740993n); // 'cancelled'
 * ```
 */
export function createMemoryOrderStore(orders: Iterable<OrderInput> = []): MemoryOrderStore {
  const entries = new Map<OrderId, Entry>();
  let listed: OrderArray | undefined;

  const store: MemoryOrderStore = {
    list() {
      listed ??= withVersion(Array.from(entries.values(), ({ order }) => order).sort(ascendingById));
      return listed;
    },

    // Cancelling and shipping do not change the list, because it does not contain statuses.
    cancel(id) {
      const entry = entries.get(id);
      const outcome = cancelOutcome(entry?.status);
      if (entry !== undefined && outcome === 'cancelled') entry.status = 'cancelled';
      return outcome;
    },

    ship(id) {
      const entry = entries.get(id);
      const outcome = shipOutcome(entry?.status);
      if (entry !== undefined && outcome === 'shipped') entry.status = 'shipped';
      return outcome;
    },

    put(orders, options) {
      const replace = isReplacing(options);
      const records = toOrderRecords(orders);
      const conflict = replace ? undefined : firstConflict(records, (id) => entries.has(id));
      if (conflict !== undefined) return { outcome: 'exists', id: conflict };
      for (const record of records) {
        entries.set(record.id, { order: toOrder(record), status: record.status });
      }
      if (records.length > 0) listed = undefined;
      return { outcome: 'stored', count: new Set(records.map(({ id }) => id)).size };
    },

    get(id) {
      const entry = entries.get(id);
      return entry && { ...entry.order, status: entry.status };
    },

    close() {},
  };

  const stored = store.put(orders);
  if (stored.outcome === 'exists') throw new RangeError(`orders: the id ${stored.id} appears twice`);
  return store;
}

function ascendingById(a: Order, b: Order): number {
  return a.id < b.id ? -1 : 1;
}
