import { createMemoryOrderStore, type OrderInput } from 'store-orders/store';
import { fakeStore } from '../../test/support/fake-store.js';
import { isQuick } from '../processes/pace.js';

/** The ten orders that the measured servers list. */
export const TEN: readonly OrderInput[] = Array.from({ length: 10 }, (_, index) => ({
  id: 1_024_801 + index,
  petId: 11 + index,
  quantity: 1 + index,
  shipDate: `2026-07-${16 + index}T00:00:00Z`,
  complete: index % 2 === 0,
  status: index % 2 === 0 ? 'shipped' : 'pending',
}));

/**
 * The orders to cancel. There are more of them than any server cancels in a round. The lists of the
 * servers do not contain them.
 */
export const FIRST_PENDING_ID = 2_000_000;
export const PENDING_IDS: readonly number[] = Array.from(
  { length: isQuick ? 10 : 250_000 },
  (_, index) => FIRST_PENDING_ID + index,
);

export const API_KEY = 'so_benchmark';
/** A key whose quota is used up by one request. */
export const SPENT_KEY = 'so_spent';

/** The first id of the orders that `manyOrders` creates. */
export const FIRST_ID = 1_024_801;

export function tenOrders() {
  return createMemoryOrderStore(TEN);
}

/** Returns orders whose fields vary like those of real orders. */
export function manyInputs(count: number): OrderInput[] {
  return Array.from({ length: count }, (_, index) => {
    const random = Math.imul(index + 1, 0x9e3779b1) >>> 0;
    const mixed = Math.imul(random ^ (random >>> 15), 0x85ebca6b) >>> 0;
    return {
      id: FIRST_ID + index,
      petId: mixed % 5_000,
      quantity: 1 + (random % 30),
      shipDate: new Date(1_780_000_000_000 + (mixed % 20_000_000) * 1_000).toISOString().replace('.000', ''),
      complete: (mixed & 1) === 0,
    };
  });
}

export function manyOrders(count: number) {
  return createMemoryOrderStore(manyInputs(count));
}

/**
 * Returns a store that lists the ten orders of `TEN`, and cancels the orders of `PENDING_IDS`.
 * `refill` makes these orders pending again.
 */
export function tenListedAndPending() {
  const { list } = tenOrders();
  const pending = createMemoryOrderStore();
  return {
    store: fakeStore({ list, cancel: pending.cancel }),
    refill: () => {
      pending.put(
        PENDING_IDS.map((id) => ({ id, petId: 1, quantity: 1 })),
        { replace: true },
      );
    },
  };
}
