import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { OrderId } from '../order.js';

/**
 * The most orders of one put whose ids are logged. After a larger put, the next list reads all
 * orders again.
 */
export const MOST_NOTED = 1_000n;

/**
 * The number of revisions whose changes are kept. A caller whose list is older reads all orders
 * again.
 */
const KEPT = 1_000n;

/**
 * The most changes that are looked up, which takes some milliseconds. If there are more, all orders
 * are read again, page by page.
 */
const MOST_READ = 5_000n;

/**
 * Prepares a function that logs which orders were put. In the caller's transaction, it raises the
 * revision and stores the ids with it. A reader whose list has the previous revision then reads
 * only these orders.
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
   * Returns the ids put after this revision, ascending. Returns `undefined` if not all of them are
   * known, or if there are too many.
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
