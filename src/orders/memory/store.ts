import { type CancelOutcome, cancelOutcome, type OrderStatus, type ShipOutcome, shipOutcome } from '../cancellation.js';
import type { Order, OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrder, toOrderRecord } from '../record.js';
import type { OwnedOrderStore, PutOptions, PutOutcome } from '../store.js';
import { NO_ORDERS } from './sorted-batches.js';

const NONE: readonly Order[] = Object.freeze([]);

/** Puts as they come are sorted when there are this many, or when a list is asked for. */
const MANY = 1_000;

/** {@link OwnedOrderStore} in memory: every method answers at once, so the service's replies are synchronous. */
export interface MemoryOrderStore extends OwnedOrderStore {
  /** Frozen: the orders, or when there are more than 512 frozen batches of them; `list().flat()` is every order in both cases. */
  list(): readonly Order[] | readonly (readonly Order[])[];
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

/** Throws a TypeError that names the field if one of `orders` is no order, a RangeError if an id comes twice. */
export function createMemoryOrderStore(orders: Iterable<OrderInput> = []): MemoryOrderStore {
  const entries = new Map<number | OrderId, Entry>();
  let sorted = NO_ORDERS;
  let unsorted = new Map<OrderId, Order>();

  function sort(): void {
    sorted = sorted.with(unsorted.values());
    unsorted = new Map();
  }

  const store: MemoryOrderStore = {
    list() {
      if (unsorted.size > 0) sort();
      const { batches } = sorted;
      return batches.length > 1 ? batches : (batches[0] ?? NONE);
    },

    // Neither a cancellation nor a shipment shows in the list (the wire has no status), so the batches stay.
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

    put(orders, { replace = false } = {}) {
      const added = new Map<OrderId, Entry>();
      for (const record of Array.from(orders, toOrderRecord)) {
        const { id, status } = record;
        if (!replace && (entries.has(keyOf(id)) || added.has(id))) return { outcome: 'exists', id };
        added.set(id, { order: Object.freeze(toOrder(record)), status });
      }
      for (const [id, entry] of added) {
        entries.set(keyOf(id), entry);
        unsorted.set(id, entry.order);
      }
      // So that the next list finds little to do.
      if (unsorted.size >= MANY) sort();
      return { outcome: 'stored', count: added.size };
    },

    get(id) {
      const entry = entries.get(keyOf(id));
      return entry && { ...entry.order, status: entry.status };
    },

    close() {},
  };

  const stored = store.put(orders);
  if (stored.outcome === 'exists') throw new RangeError(`orders: the id ${stored.id} comes twice`);
  return store;
}

/** An id that a number holds exactly is kept under that number: V8 leaves compiled code to hash a bigint, and to compare it. */
function keyOf(id: OrderId): number | OrderId {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}
