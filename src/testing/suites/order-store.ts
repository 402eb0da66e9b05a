import assert from 'node:assert/strict';
import { ORDER_STATUSES } from '../../orders/cancellation.js';
import type { ListedOrders, Order, OrderId, OrderInput, OrderPages, OrderStore } from '../../orders/index.js';
import { parseJson, serializeOrders } from '../../orders/json.js';
import { INT64_MAX, INT64_MIN } from '../../orders/order.js';
import { type OrderRecord, parseOrderRecord, toOrder, toOrderRecord } from '../../orders/record.js';
import { isPages } from '../../orders/store.js';
import type { TestCase } from './test-case.js';

interface OpenedOrderStore {
  readonly store: OrderStore;
  /** Ships a pending order. Without `ship`, the race between a cancel and a shipment is not tested. */
  readonly ship?: ((id: OrderId) => unknown) | undefined;
  readonly close?: (() => unknown) | undefined;
}

/** Opens a new store that holds exactly these orders. */
export type OpenOrderStore = (orders: readonly OrderRecord[]) => OpenedOrderStore | Promise<OpenedOrderStore>;

/**
 * Ids that a wrong number type would change. 2^31 is too large for an int32, and a double rounds
 * 2^53 + 1. The first and the last id are the limits of an int64.
 */
export const EDGE_IDS = [INT64_MIN, -1n, 0n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, INT64_MAX];

const WITH_ALL_FIELDS: Required<OrderRecord> = {
  id: 11n,
  petId: 0n,
  quantity: -1,
  complete: true,
  shipDate: '2026-01-31T12:00:00+05:45',
  status: 'pending',
};

/** Orders with each field absent and present, and values that drivers and parsers get wrong. */
const RECORDS: readonly OrderRecord[] = [
  { id: -10n, status: 'cancelled' },
  { id: -9n, petId: INT64_MIN, status: 'pending' },
  { id: 9n, petId: INT64_MAX, quantity: Number.MAX_SAFE_INTEGER, status: 'pending' },
  { id: 10n, petId: 2n ** 53n + 1n, quantity: 0, complete: false, status: 'shipped' },
  WITH_ALL_FIELDS,
  { id: 100n, quantity: Number.MIN_SAFE_INTEGER, shipDate: '0001-01-01T00:00:00.123456789Z', status: 'on_hold' },
  { id: 2n ** 53n + 1n, shipDate: '2016-12-31T23:59:59z', complete: false, status: 'pending' },
];

const CANCEL_CASES = [
  ['pending', 'cancelled', 'already_cancelled'],
  ['shipped', 'already_shipped', 'already_shipped'],
  ['cancelled', 'already_cancelled', 'already_cancelled'],
  ['on_hold', 'not_pending', 'not_pending'],
] as const;

/**
 * Returns the cases that every `OrderStore` must pass. Each case runs on a new store from `open`.
 *
 * @example
 * ```ts
 * for (const { name, run } of orderStoreSuite(open)) test(name, run);
 * ```
 */
export function orderStoreSuite(open: OpenOrderStore): TestCase[] {
  if (typeof open !== 'function') throw new TypeError('open: expected a function');
  const cases: TestCase[] = [];

  function addCase(
    name: string,
    orders: readonly OrderInput[],
    check: (store: OrderStore, opened: OpenedOrderStore) => Promise<void>,
  ): void {
    const run = async () => {
      const opened = await open(orders.map(toOrderRecord));
      try {
        await check(opened.store, opened);
      } finally {
        await opened.close?.();
      }
    };
    cases.push({ name, run });
  }

  addCase('lists no orders when the store is empty', [], async (store) =>
    assert.deepEqual(await listOrders(store), []),
  );

  addCase(
    'lists all orders ascending by id, whatever their status, with every field unchanged',
    RECORDS.toReversed(),
    async (store) => assert.deepEqual(await listOrders(store), RECORDS.map(toOrder)),
  );

  addCase('lists 5,000 orders, each once', ascending(5_000).toReversed(), async (store) => {
    assert.deepEqual(await listOrders(store), ascending(5_000));
  });

  addCase('lists all orders to several readers at the same time', ascending(100), async (store) => {
    for (const orders of await Promise.all([listOrders(store), listOrders(store), listOrders(store)])) {
      assert.deepEqual(orders, ascending(100));
    }
  });

  addCase('keeps working after a reader stops in the middle of a list', ascending(5_000), async (store) => {
    const list = await store.list();
    if (isPages(list)) for await (const _ of list) break;
    assert.equal(await store.cancel(5n), 'cancelled');
    assert.equal((await listOrders(store)).length, 5_000);
  });

  addCase('never changes a list that it has returned', [{ id: 1n, quantity: 1 }, { id: 2n }], async (store) => {
    const list = await store.list();
    await store.cancel(1n);
    assert.deepEqual(await read(list), [{ id: 1n, quantity: 1 }, { id: 2n }]);
    assert.deepEqual(
      await listOrders(store),
      [{ id: 1n, quantity: 1 }, { id: 2n }],
      'a cancelled order must still be listed',
    );
  });

  for (const id of EDGE_IDS) {
    addCase(
      `cancels order ${id} and no other order`,
      EDGE_IDS.map((id) => ({ id })),
      async (store) => {
        assert.equal(await store.cancel(id), 'cancelled');
        for (const other of EDGE_IDS) {
          assert.equal(await store.cancel(other), other === id ? 'already_cancelled' : 'cancelled', `order ${other}`);
        }
      },
    );
  }

  addCase('reports an order that does not exist as not found', [{ id: 2n ** 53n }, { id: 1n }], async (store) => {
    for (const id of [2n ** 53n + 1n, 2n ** 53n - 1n, 0n, -1n, 2n]) {
      assert.equal(await store.cancel(id), 'not_found', `order ${id} must not be found`);
    }
    // A store may reject an id beyond int64, or report it as not found.
    for (const id of [2n ** 64n + 1n, 2n ** 63n, -(2n ** 64n) + 1n]) {
      assert.notEqual(await Promise.resolve(id).then(store.cancel).catch(String), 'cancelled', `${id}`);
    }
    for (const id of [1n, 2n ** 53n])
      assert.equal(await store.cancel(id), 'cancelled', `order ${id} must still be pending`);
  });

  for (const [status, outcome, next] of CANCEL_CASES) {
    const orders = [{ id: 1n, status }, { id: 2n }];
    addCase(`reports a cancel of an order that is ${status} as ${outcome}`, orders, async (store) => {
      assert.equal(await store.cancel(1n), outcome);
      assert.equal(await store.cancel(1n), next);
      assert.equal(await store.cancel(2n), 'cancelled');
    });
  }

  addCase('reports exactly one of 1,000 concurrent cancels of one order as cancelled', [{ id: 1n }], async (store) => {
    const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => store.cancel(1n)));
    assert.equal(outcomes.filter((outcome) => outcome === 'cancelled').length, 1);
    assert.equal(outcomes.filter((outcome) => outcome === 'already_cancelled').length, 999);
  });

  addCase(
    'lets either a cancel or a concurrent shipment succeed, never both (tested only if `ship` is passed)',
    ascending(1_000),
    async (store, { ship }) => {
      if (ship === undefined) return;
      const race = async ({ id }: { id: OrderId }) => {
        const shipped = id % 2n === 0n ? ship(id) : undefined;
        const [outcome] = await Promise.all([store.cancel(id), shipped ?? ship(id)]);
        assert.ok(outcome === 'cancelled' || outcome === 'already_shipped', outcome);
        assert.equal(await store.cancel(id), outcome === 'cancelled' ? 'already_cancelled' : 'already_shipped');
      };
      await Promise.all(ascending(1_000).map(race));
    },
  );

  return cases;
}

function ascending(count: number): { id: OrderId }[] {
  return Array.from({ length: count }, (_, index) => ({ id: BigInt(index) }));
}

async function listOrders(store: OrderStore): Promise<Order[]> {
  return read(await store.list());
}

/** Returns the orders that a client would read, after the list is serialised for it. */
async function read(list: ListedOrders): Promise<Order[]> {
  const values = parseJson(isPages(list) ? await textOf(list) : serializeOrders(list));
  assert.ok(Array.isArray(values));
  return values.map((value) => {
    const record = parseOrderRecord(value, ORDER_STATUSES);
    if ('mistake' in record) assert.fail(`${record.field} ${record.mistake}`);
    return toOrder(record);
  });
}

async function textOf(pages: OrderPages): Promise<string> {
  const texts: string[] = [];
  for await (const page of pages) if (page.length > 0) texts.push(Buffer.from(page).toString());
  return `[${texts.join(',')}]`;
}
