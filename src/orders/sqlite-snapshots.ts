import { prepare, type SqliteDatabase } from '../sqlite/database.js';
import { INT64_MAX, INT64_MIN } from './order.js';
import type { OrderRecord } from './record.js';
import { orderOf, recordOf } from './sqlite-rows.js';
import type { ListedOrders } from './store.js';

/** Rows read in one go: a few milliseconds, after which the event loop has its turn. */
const PAGE = 500n;

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

function streamOf(open: () => SqliteDatabase): AsyncIterable<string> {
  return Object.freeze({
    async *[Symbol.asyncIterator]() {
      const database = open();
      try {
        yield* printedPages(database);
      } finally {
        database.close();
      }
    },
  });
}

/** `printBatch` in SQL, a page as one text: its rows as objects would cost three times the time, and garbage of several times the list. */
const PRINTED_PAGE = `SELECT max(id) AS last, group_concat(json, ',') AS json FROM (
  SELECT id, '{"id":' || id
    || iif(pet_id IS NULL, '', ',"petId":' || pet_id)
    || iif(quantity IS NULL, '', ',"quantity":' || quantity)
    || iif(ship_date IS NULL, '', ',"shipDate":' || json_quote(ship_date))
    || iif(complete IS NULL, '', iif(complete, ',"complete":true', ',"complete":false'))
    || '}' AS json
  FROM orders WHERE id >= ? ORDER BY id LIMIT ?)`;

async function* printedPages(database: SqliteDatabase): AsyncGenerator<string> {
  const select = prepare(database, PRINTED_PAGE);
  database.exec('BEGIN');
  let first = INT64_MIN;
  for (;;) {
    const { last, json } = select.get(first, PAGE) ?? {};
    if (typeof json !== 'string' || typeof last !== 'bigint') break;
    yield json;
    if (last === INT64_MAX) break;
    first = last + 1n;
    await new Promise((resolve) => setImmediate(resolve));
  }
  database.exec('COMMIT');
}

/** Every record, ascending by id, from one read transaction, which ends with the reading. */
export function* readRecords(database: SqliteDatabase): Generator<readonly OrderRecord[]> {
  const select = prepare(database, 'SELECT * FROM orders WHERE id >= ? ORDER BY id LIMIT ?');
  database.exec('BEGIN');
  try {
    let first = INT64_MIN;
    for (;;) {
      const records = select.all(first, PAGE).map(recordOf);
      const last = records.at(-1)?.id;
      if (last === undefined) return;
      yield records;
      if (last === INT64_MAX) return;
      first = last + 1n;
    }
  } finally {
    database.exec('COMMIT');
  }
}
