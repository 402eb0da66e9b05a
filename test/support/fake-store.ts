import type { Order, OrderArray, OrderPages, OrderStore } from 'store-orders';
import { serializeOrder } from 'store-orders/store';

/** Creates a store that lists no orders and finds none, except as given. */
export function fakeStore({ list = () => [], cancel = () => 'not_found' }: Partial<OrderStore> = {}): OrderStore {
  return { list, cancel };
}

/** Returns a list of these orders that is serialised once. */
export function withVersion(orders: readonly Order[], version = 'v1'): OrderArray {
  return Object.assign([...orders], { version });
}

/** Returns a page of JSON text with these orders. */
export function pageOf(orders: readonly Order[]): string {
  return orders.map(serializeOrder).join(',');
}

/**
 * Creates pages that every reader reads from the beginning. Each item is a page, or an error that
 * is thrown in its place.
 */
export function pagesOf(items: Iterable<readonly Order[] | Error>, version?: string): OrderPages {
  return {
    version,
    async *[Symbol.asyncIterator]() {
      for (const item of items) {
        if (item instanceof Error) throw item;
        yield pageOf(item);
      }
    },
  };
}
