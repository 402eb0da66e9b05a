import { createMemoryOrderStore, type OrderInput } from 'store-orders/store';
import { isQuick } from '../pace.js';

/** The ten orders that every server of a comparison lists. */
export const TEN: readonly OrderInput[] = Array.from({ length: 10 }, (_, index) => ({
  id: 1_024_801 + index,
  petId: 11 + index,
  quantity: 1 + index,
  shipDate: `2026-07-${16 + index}T00:00:00Z`,
  complete: index % 2 === 0,
  status: index % 2 === 0 ? 'shipped' : 'pending',
}));

/** The orders that are there to be cancelled: more than any server cancels in a round. They are not listed. */
export const FIRST_PENDING_ID = 2_000_000;
export const PENDING_IDS: readonly number[] = Array.from(
  { length: isQuick ? 10 : 250_000 },
  (_, index) => FIRST_PENDING_ID + index,
);

export const API_KEY = 'so_benchmark';

export function tenOrders() {
  return createMemoryOrderStore(TEN);
}

/** Lists the ten and cancels the pending, once `refill` has put them there. */
export function tenListedAndPending() {
  const { list } = tenOrders();
  const pending = createMemoryOrderStore();
  return {
    store: { list, cancel: pending.cancel },
    refill: () => {
      pending.put(
        PENDING_IDS.map((id) => ({ id, petId: 1, quantity: 1 })),
        { replace: true },
      );
    },
  };
}
