import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryOrderStore, type MemoryOrderStore, type OrderRecord, type OrderStore } from 'store-orders';
import { serializeOrder } from 'store-orders/store';
import { orderStoreSuite } from 'store-orders/testing';
import { assertFail, failures } from '../support/failures.js';

type Break = (store: MemoryOrderStore) => Partial<OrderStore>;

/**
 * Broken stores, each with the case of the suite that must fail. `promises/testing/objections` shows
 * what each case says of wrong lists and outcomes. These mistakes are others.
 */
const BROKEN: Readonly<Record<string, readonly [RegExp, Break]>> = {
  'sorts ids as strings': [
    /^lists all orders ascending/,
    (store) => ({ list: () => store.list().toSorted((a, b) => (`${a.id}` < `${b.id}` ? -1 : 1)) }),
  ],
  'changes a list after returning it': [
    /^never changes a list/,
    (store) => {
      const rows = [...store.list()];
      return {
        list: () => rows,
        cancel(id) {
          rows.pop();
          return store.cancel(id);
        },
      };
    },
  ],
  'lets other calls run between reading and writing a status': [
    /^(?:reports exactly one of 1,000|lets either)/,
    (store) => ({
      async cancel(id) {
        const status = store.get(id)?.status;
        await Promise.resolve();
        const outcome = store.cancel(id);
        return status === 'pending' ? 'cancelled' : outcome;
      },
    }),
  ],
  'cannot cancel orders after a reader has stopped before the end of a list': [
    /^keeps working after a reader stops/,
    (store) => {
      let isReading = false;
      return {
        async *list() {
          isReading = true;
          for (const order of store.list()) yield serializeOrder(order);
          isReading = false;
        },
        cancel(id) {
          if (isReading) throw new Error('the connection is busy');
          return store.cancel(id);
        },
      };
    },
  ],
};

function open(breaks: Break = () => ({})) {
  return (orders: readonly OrderRecord[]) => {
    const store = createMemoryOrderStore(orders);
    return { store: { list: store.list, cancel: store.cancel, ...breaks(store) }, ship: store.ship };
  };
}

for (const [how, [expected, breaks]] of Object.entries(BROKEN)) {
  test(`the order store suite fails for a store that ${how}`, () => {
    return assertFail(orderStoreSuite(open(breaks)), expected);
  });
}

const WHOLE: Readonly<Record<string, Break>> = {
  'pages of text, some of them empty': (store) => ({
    async *list() {
      for (const order of store.list()) yield* ['', serializeOrder(order)];
    },
  }),
  'pages of bytes': (store) => ({
    async *list() {
      for (const order of store.list()) yield Buffer.from(serializeOrder(order));
    },
  }),
  'database rows that have null for absent fields, and additional columns': (store) => ({
    list: () => store.list().map((order) => Object.assign({ petId: null, shipDate: null, status: 'x' }, order)),
  }),
};

for (const [how, breaks] of Object.entries(WHOLE)) {
  test(`the order store suite passes for a store that lists ${how}`, async () => {
    assert.deepEqual(await failures(orderStoreSuite(open(breaks))), []);
  });
}

test('the order store suite closes every store that it has opened, even after a failure', async () => {
  let opened = 0;
  const cases = orderStoreSuite((orders) => {
    opened++;
    const store = createMemoryOrderStore(orders);
    return { store: { list: () => [], cancel: store.cancel }, close: () => opened-- };
  });
  assert.ok((await failures(cases)).length > 0);
  assert.equal(opened, 0);
});
