import { type CancelOutcome, cancelOutcome, type OrderStatus, type ShipOutcome, shipOutcome } from '../cancellation.js';
import { isReplacing } from '../options.js';
import type { Order, OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrder, toOrderRecords } from '../record.js';
import { firstTaken, type OwnedOrderStore, type PutOptions, type PutOutcome } from '../store.js';

/**
 * An {@link OwnedOrderStore} in memory. Its methods are synchronous, so the service also replies
 * synchronously.
 */
export interface MemoryOrderStore extends OwnedOrderStore {
  /** Returns a frozen array, which stays the same object until orders are put. */
  list(): readonly Order[];
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
  const entries = new Map<number | OrderId, Entry>();
  let sorted: readonly Order[] = Object.freeze([]);
  let unsorted = new Map<OrderId, Order>();

  const store: MemoryOrderStore = {
    list() {
      if (unsorted.size > 0) {
        sorted = merge(sorted, unsorted.values());
        unsorted = new Map();
      }
      return sorted;
    },

    // A list does not contain the status of its orders, so cancelling or shipping an order does not
    // change the list.
    cancel(id) {
      const entry = entries.get(keyOf(id));
      const outcome = cancelOutcome(entry?.status);
      if (entry !== undefined && outcome === 'cancelled') entry.status = 'cancelled';
      return outcome;
    },

    ship(id) {
      const entry = entries.get(keyOf(id));
      const outcome = shipOutcome(entry?.status);
      if (entry !== undefined && outcome === 'shipped') entry.status = 'shipped';
      return outcome;
    },

    put(orders, options) {
      const replace = isReplacing(options);
      const records = toOrderRecords(orders);
      const taken = replace ? undefined : firstTaken(records, (id) => entries.has(keyOf(id)));
      if (taken !== undefined) return { outcome: 'exists', id: taken };
      const added = new Map(records.map((record) => [record.id, record]));
      for (const [id, record] of added) {
        const order = Object.freeze(toOrder(record));
        entries.set(keyOf(id), { order, status: record.status });
        unsorted.set(id, order);
      }
      return { outcome: 'stored', count: added.size };
    },

    get(id) {
      const entry = entries.get(keyOf(id));
      return entry && { ...entry.order, status: entry.status };
    },

    close() {},
  };

  const stored = store.put(orders);
  if (stored.outcome === 'exists') throw new RangeError(`orders: the id ${stored.id} appears twice`);
  return store;
}

/** The most orders that are inserted into a list one by one. If there are more, it is sorted. */
const FEW = 16;

/** Merges orders into a sorted list. They replace the orders with the same ids. */
function merge(sorted: readonly Order[], changed: Iterable<Order>): readonly Order[] {
  // A spread copies a frozen array twenty times as fast as `slice` and `concat`.
  const merged = [...sorted];
  const added: Order[] = [];
  for (const order of changed) {
    const place = placeOf(merged, order.id);
    if (merged[place]?.id === order.id) merged[place] = order;
    else added.push(order);
  }
  if (added.length > FEW) return Object.freeze([...merged, ...added].sort((a, b) => (a.id < b.id ? -1 : 1)));
  for (const order of added) merged.splice(placeOf(merged, order.id), 0, order);
  return Object.freeze(merged);
}

/** Returns the index of the first order whose id is `id` or greater. */
function placeOf(sorted: readonly Order[], id: OrderId): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.id ?? id) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the map key of an id: a number if the id is a safe integer, otherwise the bigint itself.
 * Bigint keys are slower, because V8 exits compiled code to hash and compare them.
 */
function keyOf(id: OrderId): number | OrderId {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}
