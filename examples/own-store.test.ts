/**
 * Runs the test suite for order stores on a store of your own. In this example, the store keeps its
 * rows in a Map. A real store has a table instead.
 *
 *     node --import tsx --test examples/own-store.test.ts
 */
import { test } from 'node:test';
import {
  cancelOutcome,
  type OrderId,
  type OrderRecord,
  type OrderStore,
  serializeOrder,
  shipOutcome,
} from 'store-orders/store';
import { orderStoreSuite } from 'store-orders/testing';

function createTable(records: readonly OrderRecord[]): OrderStore & { ship(id: OrderId): void } {
  const rows = new Map(records.map((record) => [record.id, { ...record }]));
  return {
    // Yields pages of JSON text, as a database cursor would. A store with few orders can return an
    // array instead.
    async *list() {
      const orders = [...rows.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      for (let i = 0; i < orders.length; i += 1_000) {
        yield orders
          .slice(i, i + 1_000)
          .map(serializeOrder)
          .join(',');
      }
    },
    // The read and the write are one atomic step, because nothing is awaited between them. With a
    // real table, use a transaction.
    async cancel(id) {
      const row = rows.get(id);
      const outcome = cancelOutcome(row?.status);
      if (row !== undefined && outcome === 'cancelled') row.status = 'cancelled';
      return outcome;
    },
    ship(id) {
      const row = rows.get(id);
      if (row !== undefined && shipOutcome(row.status) === 'shipped') row.status = 'shipped';
    },
  };
}

const cases = orderStoreSuite((records) => {
  const table = createTable(records);
  return { store: table, ship: table.ship };
});
for (const { name, run } of cases) test(name, run);
