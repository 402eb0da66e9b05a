import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMemoryOrderStore, type OrderInput } from 'store-orders';

const ordersFrom = (first: number, count: number, step = 10): OrderInput[] =>
  Array.from({ length: count }, (_, index) => ({ id: first + step * index, quantity: index }));

/**
 * Random sequences of puts. A put has few or many orders, whose ids are close together or far
 * apart.
 */
const puts = fc.array(
  fc.record({
    first: fc.integer({ min: -20_000, max: 20_000 }),
    count: fc.oneof(fc.constantFrom(1, 2, 1_500), fc.nat(40)),
    step: fc.integer({ min: 1, max: 30 }),
    isListed: fc.boolean(),
  }),
  { minLength: 1, maxLength: 10 },
);

test('after any sequence of puts and lists, the memory store lists the latest version of each order once, in ascending order of ids', () => {
  fc.assert(
    fc.property(puts, (changes) => {
      const store = createMemoryOrderStore();
      const model = new Map<number, number>();
      for (const [turn, { first, count, step, isListed }] of changes.entries()) {
        const orders = ordersFrom(first, count, step).map(({ id }) => ({ id: Number(id), quantity: turn }));
        for (const { id, quantity } of orders) model.set(id, quantity);
        store.put(orders, { replace: true });
        if (isListed) store.list();
      }
      const expected = [...model].sort(([a], [b]) => a - b).map(([id, quantity]) => ({ id: BigInt(id), quantity }));
      assert.deepEqual(store.list(), expected);
    }),
    { numRuns: 60 },
  );
});
