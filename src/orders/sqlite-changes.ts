import { prepare, type SqliteDatabase } from '../sqlite/database.js';
import type { OrderId } from './order.js';

/** A put of more orders than this is not noted one by one: whoever lists then reads everything anew. */
const MOST_NOTED = 1_000n;

/** Revisions whose changes are kept. Whoever lists more rarely reads everything anew. */
const KEPT = 1_000n;

/**
 * Notes, in somebody else's transaction, that orders were put: the next revision, and which they were, so that who has
 * listed the revision before need not read the others again.
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

/** The ids put after this revision, ascending; `undefined` if not all of them are known. */
export function changesSince(database: SqliteDatabase, revision: bigint): readonly OrderId[] | undefined {
  const { noted } =
    prepare(database, 'SELECT count(DISTINCT revision) AS noted FROM orders_changes WHERE revision > ?').get(
      revision,
    ) ?? {};
  if (revisionOf(database) !== revision + BigInt(noted ?? 0)) return undefined;
  return prepare(database, 'SELECT DISTINCT id FROM orders_changes WHERE revision > ? ORDER BY id')
    .all(revision)
    .map(({ id }) => BigInt(id ?? 0));
}

/** Grows with every put, of whatever process. */
export function revisionOf(database: SqliteDatabase): bigint {
  return BigInt(prepare(database, 'SELECT revision FROM orders_revision').get()?.['revision'] ?? 0);
}
