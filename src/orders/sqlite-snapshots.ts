import { prepare, type SqliteDatabase, type SqliteRow } from '../sqlite/database.js';
import type { Order } from './order.js';
import { orderOf } from './sqlite-rows.js';
import type { ListedOrders } from './store.js';

/** Rows read in one go: a few milliseconds, after which the event loop has its turn. */
const PAGE = 1_000n;

/** No limit, in SQLite's words. */
const ALL = -1n;

/**
 * Lists the orders of a database that has the tables: a frozen array, or above one page, where `open` can open another
 * handle, a frozen iterable that reads page by page from one read transaction on a handle of its own. The same object
 * for as long as the listed fields do not change, in whatever process; a status is not listed.
 */
export function createSnapshots(database: SqliteDatabase, open?: () => SqliteDatabase): () => ListedOrders {
  const selectRevision = prepare(database, 'SELECT revision FROM orders_revision');
  const selectAtMost = prepare(database, 'SELECT * FROM orders ORDER BY id LIMIT ?');
  let remembered: { readonly revision: unknown; readonly orders: ListedOrders } | undefined;

  return () => {
    const revision = selectRevision.get()?.['revision'];
    if (remembered !== undefined && remembered.revision === revision) return remembered.orders;
    // Read after its revision, a list may be newer than its label, never older: then it is read once more next time.
    const rows = selectAtMost.all(open === undefined ? ALL : PAGE + 1n);
    const orders = open !== undefined && rows.length > PAGE ? streamOf(open) : Object.freeze(rows.map(orderOf));
    remembered = { revision, orders };
    return orders;
  };
}

function streamOf(open: () => SqliteDatabase): AsyncIterable<readonly Order[]> {
  return Object.freeze({
    async *[Symbol.asyncIterator]() {
      const database = open();
      try {
        for (const rows of pages(database)) {
          yield rows.map(orderOf);
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        database.close();
      }
    },
  });
}

/** Every row, ascending by id, from one read transaction, which ends with the reading. */
export function* pages(database: SqliteDatabase): Generator<readonly SqliteRow[]> {
  const selectFirst = prepare(database, 'SELECT * FROM orders ORDER BY id LIMIT ?');
  const selectNext = prepare(database, 'SELECT * FROM orders WHERE id > ? ORDER BY id LIMIT ?');
  database.exec('BEGIN');
  try {
    let rows = selectFirst.all(PAGE);
    for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
      yield rows;
      rows = selectNext.all(last['id'] ?? null, PAGE);
    }
  } finally {
    database.exec('COMMIT');
  }
}
