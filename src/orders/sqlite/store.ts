import { checkMethods } from '../../check.js';
import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { prepareFile } from '../../databases/sqlite/durability.js';
import { createWriteQueue, type WriteQueue } from '../../databases/sqlite/group-commit.js';
import { type CancelOutcome, cancelOutcome, type OrderStatus, type ShipOutcome, shipOutcome } from '../cancellation.js';
import { CHANGES_LISTED_AFTER_MS } from '../newest-list.js';
import type { OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrderRecords } from '../record.js';
import {
  firstConflict,
  isReplacing,
  type OrderArray,
  type OwnedOrderStore,
  type PutOptions,
  type PutOutcome,
  withVersion,
} from '../store.js';
import { COLUMN_NAMES, ORDERS_SCHEMA, orderOf, recordOf, SELECT_REVISION, valuesOf } from './table.js';

/**
 * An {@link OwnedOrderStore} over a SQLite handle. A change is on disk before the store reports it
 * as done.
 */
export interface SqliteOrderStore extends OwnedOrderStore {
  /**
   * Returns an array with a version. It shows this store's own puts immediately, and changes by
   * any other program at most a tenth of a second later.
   */
  list(): OrderArray;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): OrderRecord | undefined;
  ship(id: OrderId): Promise<ShipOutcome>;
  close(): Promise<void>;
}

/**
 * Creates an order store over an open handle of node:sqlite, better-sqlite3 or libsql. The caller
 * closes the handle. The file must be new or created by this store. Sets WAL and
 * `synchronous=FULL`, and throws if SQLite rejects either, unless the database is in memory, which
 * has nothing to lose. Also throws if the file belongs to another program, or if its tables have a
 * newer version. Sets `busy_timeout=0`, because the store waits for other processes' locks itself,
 * without blocking the event loop.
 *
 * All statements run on the caller's thread, so each commit blocks the event loop during its fsync.
 */
export function createSqliteOrderStore(database: SqliteDatabase): SqliteOrderStore {
  checkMethods('database', database, ['exec', 'prepare']);
  prepareFile(database, ORDERS_SCHEMA);
  return createOrders(database, createWriteQueue(database));
}

/** Creates an order store over a prepared database. Each write joins a commit of the queue. */
export function createOrders(database: SqliteDatabase, { write, idle }: WriteQueue): SqliteOrderStore {
  const { list, noteChange } = createArrayList(database);
  const selectOne = prepare(database, 'SELECT * FROM orders WHERE id = ?');
  const selectStatus = prepare(database, 'SELECT status FROM orders WHERE id = ?');
  const updateStatus = prepare(database, 'UPDATE orders SET status = ? WHERE id = ?');
  const upsert = prepare(
    database,
    `INSERT OR REPLACE INTO orders (${COLUMN_NAMES}) VALUES (${COLUMN_NAMES.map(() => '?')})`,
  );

  function statusOf(id: OrderId): OrderStatus | undefined {
    const status = selectStatus.get(id)?.['status'];
    return status === undefined ? undefined : String(status);
  }

  function putAll(records: readonly OrderRecord[], replace: boolean): PutOutcome {
    const id = replace ? undefined : firstConflict(records, (id) => statusOf(id) !== undefined);
    if (id !== undefined) return { outcome: 'exists', id };
    for (const record of records) upsert.run(...valuesOf(record));
    return { outcome: 'stored', count: new Set(records.map(({ id }) => id)).size };
  }

  return {
    list,

    cancel: (id) =>
      write(() => {
        const outcome = cancelOutcome(statusOf(id));
        if (outcome === 'cancelled') updateStatus.run('cancelled', id);
        return outcome;
      }),

    ship: (id) =>
      write(() => {
        const outcome = shipOutcome(statusOf(id));
        if (outcome === 'shipped') updateStatus.run('shipped', id);
        return outcome;
      }),

    async put(orders, options) {
      const replace = isReplacing(options);
      const records = toOrderRecords(orders);
      return write(() => putAll(records, replace)).finally(noteChange);
    },

    get(id) {
      const row = selectOne.get(id);
      return row && recordOf(row);
    },

    close: idle,
  };
}

/** Creates the list of a database. The orders are read again only if the revision has changed. */
function createArrayList(database: SqliteDatabase) {
  const selectRevision = prepare(database, SELECT_REVISION);
  const selectAll = prepare(database, 'SELECT * FROM orders ORDER BY id');
  let listed: { readonly revision: unknown; readonly orders: OrderArray } | undefined;
  let checkedMs = Number.NEGATIVE_INFINITY;
  return {
    list(): OrderArray {
      const nowMs = performance.now();
      if (listed !== undefined && nowMs - checkedMs < CHANGES_LISTED_AFTER_MS) return listed.orders;
      // Read before the orders, so that the list is never older than its revision.
      const revision = selectRevision.get()?.['revision'];
      if (listed?.revision !== revision) listed = undefined;
      listed ??= { revision, orders: withVersion(selectAll.all().map(orderOf)) };
      checkedMs = nowMs;
      return listed.orders;
    },

    noteChange(): void {
      checkedMs = Number.NEGATIVE_INFINITY;
    },
  };
}
