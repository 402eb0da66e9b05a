/**
 * The suite of stores over a store of one's own: here rows in a Map, a table elsewhere.
 *
 *     node --import tsx --test examples/own-store.test.ts
 */
import { test } from 'node:test';
import { cancelOutcome, type OrderId, type OrderRecord, type OrderStore, shipOutcome } from 'store-orders/store';
import { orderStoreSuite } from 'store-orders/testing';

function createTable(records: readonly OrderRecord[]): OrderStore & { ship(id: OrderId): void } {
  const rows = new Map(records.map((record) => [record.id, { ...record }]));
  return {
    // In batches, as a cursor would give them.
    async *list() {
      const ids = [...rows.keys()].sort((a, b) => (a < b ? -1 : 1));
      for (let i = 0; i < ids.length; i += 1_000) yield ids.slice(i, i + 1_000).flatMap((id) => rows.get(id) ?? []);
    },
    // One atomic step: nothing is awaited between the look and the write. A table does this in a transaction.
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
