import { createMemoryOrderStore, type OrderInput } from 'store-orders/store';

/** The ten orders that every server of a comparison lists. */
const TEN: OrderInput[] = Array.from({ length: 10 }, (_, index) => ({
  id: 1_024_801 + index,
  petId: 11 + index,
  quantity: 1 + index,
  shipDate: `2026-07-${16 + index}T00:00:00Z`,
  complete: index % 2 === 0,
  status: index % 2 === 0 ? 'shipped' : 'pending',
}));

export const API_KEY = 'so_benchmark';

export function tenOrders() {
  return createMemoryOrderStore(TEN);
}
