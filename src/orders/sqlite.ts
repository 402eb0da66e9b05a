import { type CancelOutcome, cancel, type OrderStatus, type ShipOutcome, ship } from './cancellation.js';
import type { Order, OrderId } from './order.js';
import { type OrderInput, type OrderRecord, toOrderRecord } from './record.js';
import { makeDurable, migrate, opening, prepare, type SqliteDatabase, type SqliteRow } from './sqlite-database.js';
import type { OwnedOrderStore, PutOptions, PutOutcome } from './store.js';
import { createWriteQueue } from './write-queue.js';

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite-database.js';
export { openSqliteDatabase } from './sqlite-driver.js';

/** {@link OwnedOrderStore} in a SQLite file: what was answered is on disk. */
export interface SqliteOrderStore extends OwnedOrderStore {
  list(): readonly Order[];
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): OrderRecord | undefined;
  ship(id: OrderId): Promise<ShipOutcome>;
  /** Records in ascending order of id, at most `limit` of them, beginning after the id `after`, or at the first. */
  page(after: OrderId | undefined, limit: number): readonly OrderRecord[];
}

const SCHEMA = [
  `CREATE TABLE orders (
    id INTEGER PRIMARY KEY, pet_id INTEGER, quantity INTEGER, ship_date TEXT, complete INTEGER,
    status TEXT NOT NULL) STRICT;
  CREATE TABLE orders_revision (revision INTEGER NOT NULL) STRICT;
  INSERT INTO orders_revision VALUES (0);`,
];

/**
 * The store over an open handle of node:sqlite, better-sqlite3 or libsql, which stays the caller's to close. The file
 * must be new, or one of this store's. Sets WAL and `synchronous=FULL` and throws if SQLite refuses them, if the file
 * is foreign or if it is of a newer version. Also sets `busy_timeout=0`: the store waits for other processes' locks
 * itself, without blocking the event loop.
 */
export function createSqliteOrderStore(database: SqliteDatabase): SqliteOrderStore {
  opening(database, () => {
    migrate(database, 'orders', SCHEMA);
    makeDurable(database);
  });

  const selectRevision = prepare(database, 'SELECT revision FROM orders_revision');
  const selectAll = prepare(database, 'SELECT id, pet_id, quantity, ship_date, complete FROM orders ORDER BY id');
  const selectOne = prepare(database, 'SELECT * FROM orders WHERE id = ?');
  const selectFirst = prepare(database, 'SELECT * FROM orders ORDER BY id LIMIT ?');
  const selectAfter = prepare(database, 'SELECT * FROM orders WHERE id > ? ORDER BY id LIMIT ?');
  const selectStatus = prepare(database, 'SELECT status FROM orders WHERE id = ?');
  const updateStatus = prepare(database, 'UPDATE orders SET status = ? WHERE id = ?');
  const upsert = prepare(database, 'INSERT OR REPLACE INTO orders VALUES (?, ?, ?, ?, ?, ?)');
  const bumpRevision = prepare(database, 'UPDATE orders_revision SET revision = revision + 1');
  const queue = createWriteQueue(database);

  let remembered: { readonly revision: unknown; readonly orders: readonly Order[] } | undefined;

  function statusOf(id: OrderId): OrderStatus | undefined {
    const status = selectStatus.get(id)?.['status'];
    return status === undefined ? undefined : String(status);
  }

  return {
    // The revision counts what the list shows, in whatever process it was written; a status is not shown.
    list() {
      const revision = selectRevision.get()?.['revision'];
      if (remembered === undefined || remembered.revision !== revision) {
        remembered = { revision, orders: Object.freeze(selectAll.all().map(orderOf)) };
      }
      return remembered.orders;
    },

    cancel: (id) =>
      queue.write(() => {
        const outcome = cancel(statusOf(id));
        if (outcome === 'cancelled') updateStatus.run('cancelled', id);
        return outcome;
      }),

    ship: (id) =>
      queue.write(() => {
        const outcome = ship(statusOf(id));
        if (outcome === 'shipped') updateStatus.run('shipped', id);
        return outcome;
      }),

    async put(orders, { replace = false } = {}) {
      const records = Array.from(orders, toOrderRecord);
      return queue.write((): PutOutcome => {
        const existing = replace ? undefined : firstExisting(records, (id) => statusOf(id) !== undefined);
        if (existing !== undefined) return { outcome: 'exists', id: existing };
        for (const record of records) upsert.run(...valuesOf(record));
        bumpRevision.run();
        return { outcome: 'stored', count: new Set(records.map((record) => record.id)).size };
      });
    },

    get(id) {
      const row = selectOne.get(id);
      return row && recordOf(row);
    },

    page: (after, limit) =>
      (after === undefined ? selectFirst.all(BigInt(limit)) : selectAfter.all(after, BigInt(limit))).map(recordOf),

    close: () => queue.idle(),
  };
}

function firstExisting(records: readonly OrderRecord[], isStored: (id: OrderId) => boolean): OrderId | undefined {
  const seen = new Set<OrderId>();
  return records.find(({ id }) => isStored(id) || seen.size === seen.add(id).size)?.id;
}

function valuesOf({ id, petId, quantity, shipDate, complete, status }: OrderRecord) {
  return [
    id,
    petId ?? null,
    quantity === undefined ? null : BigInt(quantity),
    shipDate ?? null,
    complete === undefined ? null : BigInt(complete),
    status,
  ] as const;
}

function recordOf(row: SqliteRow): OrderRecord {
  return { ...orderOf(row), status: String(row['status']) };
}

function orderOf(row: SqliteRow): Order {
  const { id, pet_id: petId, quantity, ship_date: shipDate, complete } = row;
  return {
    id: BigInt(id ?? 0),
    ...(typeof petId === 'bigint' && { petId }),
    ...(typeof quantity === 'bigint' && { quantity: Number(quantity) }),
    ...(typeof shipDate === 'string' && { shipDate }),
    ...(typeof complete === 'bigint' && { complete: complete === 1n }),
  };
}
