import { type CancelOutcome, cancel, type ShipOutcome, ship } from './cancellation.js';
import type { Order, OrderId } from './order.js';
import { type OrderInput, type OrderRecord, toOrder, toOrderRecord } from './record.js';
import type { OwnedOrderStore, PutOptions, PutOutcome } from './store.js';

/** {@link OwnedOrderStore} in memory: every method answers at once, so the service's replies are synchronous. */
export interface MemoryOrderStore extends OwnedOrderStore {
  list(): readonly Order[];
  cancel(id: OrderId): CancelOutcome;
  put(orders: Iterable<OrderInput>, options?: PutOptions): PutOutcome;
  get(id: OrderId): OrderRecord | undefined;
  ship(id: OrderId): ShipOutcome;
  close(): void;
}

/** Throws a TypeError that names the field if one of `orders` is no order, a RangeError if an id comes twice. */
export function createMemoryOrderStore(orders: Iterable<OrderInput> = []): MemoryOrderStore {
  const records = new Map<OrderId, OrderRecord>();
  let snapshot: readonly Order[] | undefined;

  const store: MemoryOrderStore = {
    list() {
      snapshot ??= Object.freeze(Array.from(records.values(), toOrder).sort((a, b) => (a.id < b.id ? -1 : 1)));
      return snapshot;
    },

    // Neither a cancellation nor a shipment shows in the list (the wire has no status), so the snapshot stays.
    cancel(id) {
      const record = records.get(id);
      const outcome = cancel(record?.status);
      if (record !== undefined && outcome === 'cancelled') records.set(id, { ...record, status: 'cancelled' });
      return outcome;
    },

    ship(id) {
      const record = records.get(id);
      const outcome = ship(record?.status);
      if (record !== undefined && outcome === 'shipped') records.set(id, { ...record, status: 'shipped' });
      return outcome;
    },

    put(orders, { replace = false } = {}) {
      const added = new Map<OrderId, OrderRecord>();
      for (const record of Array.from(orders, toOrderRecord)) {
        if (!replace && (records.has(record.id) || added.has(record.id))) return { outcome: 'exists', id: record.id };
        added.set(record.id, record);
      }
      for (const [id, record] of added) records.set(id, record);
      snapshot = undefined;
      return { outcome: 'stored', count: added.size };
    },

    get: (id) => records.get(id),
    close() {},
  };

  const stored = store.put(orders);
  if (stored.outcome === 'exists') throw new RangeError(`orders: the id ${stored.id} comes twice`);
  return store;
}
