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

/** Orders whose fields vary as real ones do. */
export function manyOrders(count: number) {
  return createMemoryOrderStore(
    Array.from({ length: count }, (_, index) => {
      const random = Math.imul(index + 1, 0x9e3779b1) >>> 0;
      const mixed = Math.imul(random ^ (random >>> 15), 0x85ebca6b) >>> 0;
      return {
        id: 1_024_801 + index,
        petId: mixed % 5_000,
        quantity: 1 + (random % 30),
        shipDate: new Date(1_780_000_000_000 + (mixed % 20_000_000) * 1_000).toISOString().replace('.000', ''),
        complete: (mixed & 1) === 0,
      };
    }),
  );
}
