import type { Order, OrderId } from '../order.js';

/** Orders sorted by id, in frozen batches. A batch that does not change stays the same object. */
export interface SortedBatches {
  readonly batches: readonly (readonly Order[])[];
  /** Returns a copy with these orders added. They replace orders with the same ids. */
  with(orders: Iterable<Order>): SortedBatches;
}

/** The usual number of orders in a batch. Serialising them takes a fraction of a millisecond. */
const BATCH = 512;

export const NO_ORDERS: SortedBatches = sortedBatches([]);

function sortedBatches(batches: readonly (readonly Order[])[]): SortedBatches {
  return {
    batches,
    with(orders) {
      const sorted = [...orders].sort((a, b) => (a.id < b.id ? -1 : 1));
      const changed: (readonly Order[])[] = [];
      let at = 0;
      let from = 0;
      while (at < sorted.length) {
        const index = batchOf(batches, sorted[at]?.id ?? 0n);
        const next = batches[index + 1]?.[0]?.id;
        let end = at;
        while (end < sorted.length && (next === undefined || (sorted[end]?.id ?? 0n) < next)) end++;
        for (const batch of batches.slice(from, index)) changed.push(batch);
        const merged = merge(batches[index] ?? [], sorted.slice(at, end));
        changed.push(...split(merged, next === undefined));
        [at, from] = [end, index + 1];
      }
      for (const batch of batches.slice(from)) changed.push(batch);
      return sortedBatches(Object.freeze(changed));
    },
  };
}

/**
 * Returns the index of the batch where `id` belongs: the last one that begins at or before `id`, or
 * the first batch.
 */
function batchOf(batches: readonly (readonly Order[])[], id: OrderId): number {
  let low = 0;
  let high = batches.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((batches[middle]?.[0]?.id ?? 0n) <= id) low = middle;
    else high = middle;
  }
  return low;
}

/** Merges two sorted lists. If both have an order with the same id, keeps the one of `newer`. */
function merge(older: readonly Order[], newer: readonly Order[]): Order[] {
  const merged: Order[] = [];
  let at = 0;
  for (const order of older) {
    for (let next = newer[at]; next !== undefined && next.id < order.id; next = newer[++at]) merged.push(next);
    if (newer[at]?.id !== order.id) merged.push(order);
  }
  return merged.concat(newer.slice(at));
}

/**
 * Splits a batch that has become too large. Most new orders are added to the last batch, so it is
 * split into batches of `BATCH` orders, which then seldom change. Any other batch is split only
 * when it has more than `2 * BATCH` orders.
 */
function split(orders: readonly Order[], isLast: boolean): (readonly Order[])[] {
  if (!isLast && orders.length <= 2 * BATCH) return [Object.freeze(orders)];
  const batches: (readonly Order[])[] = [];
  for (let start = 0; start < orders.length; start += BATCH) {
    batches.push(Object.freeze(orders.slice(start, start + BATCH)));
  }
  return batches;
}
