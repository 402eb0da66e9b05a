import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { OrderId } from '../order.js';

/**
 * If a put stores at most this many orders, their ids are logged. After a larger put, the next list
 * reads all orders again.
 */
export const MOST_NOTED = 1_000n;

/**
 * The log keeps the ids of this many puts, the most recent ones. A reader whose list is older reads
 * all orders again.
 */
const KEPT = 1_000n;

/**
 * The most ids that are read from the log, which takes some milliseconds. If there are more, all
 * orders are read again, page by page.
 */
const MOST_READ = 5_000n;

/**
 * Prepares a function that logs which orders were put. The caller calls it in the same transaction
 * as the put. The function adds one to the revision number of the orders, and stores the ids with
 * this number. A reader that has the list of an earlier revision then reads only what has changed.
 */
export function prepareChanges(database: SqliteDatabase): (orders: readonly { readonly id: OrderId }[]) => void {
  const bumpRevision = prepare(database, 'UPDATE orders_revision SET revision = revision + 1');
  const insert = prepare(database, 'INSERT OR IGNORE INTO orders_changes SELECT revision, ? FROM orders_revision');
  const forget = prepare(
    database,
    'DELETE FROM orders_changes WHERE revision <= (SELECT revision FROM orders_revision) - ?',
  );
  return (orders) => {
    if (orders.length === 0) return;
    bumpRevision.run();
    if (orders.length <= MOST_NOTED) for (const { id } of orders) insert.run(id);
    forget.run(KEPT);
  };
}

export interface ChangeLog {
  /** Returns a number that grows with every put of any process. */
  revision(): bigint;
  /**
   * Returns the ids of the orders that were put after this revision, in ascending order. Returns
   * `undefined` if not all of these ids were logged, or if there are more than {@link MOST_READ}.
   */
  changesSince(revision: bigint): readonly OrderId[] | undefined;
}

export function prepareChangeLog(database: SqliteDatabase): ChangeLog {
  const selectRevision = prepare(database, 'SELECT revision FROM orders_revision');
  const selectChanges = prepare(
    database,
    'SELECT revision, id FROM (SELECT * FROM orders_changes WHERE revision > ? LIMIT ?) ORDER BY id',
  );
  const revision = () => BigInt(selectRevision.get()?.['revision'] ?? 0);
  return {
    revision,

    changesSince(known) {
      const changes = selectChanges.all(known, MOST_READ + 1n);
      const noted = new Set(changes.map((change) => change['revision'])).size;
      if (changes.length > MOST_READ || revision() !== known + BigInt(noted)) return undefined;
      return changes.map(({ id }) => BigInt(id ?? 0));
    },
  };
}
