import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { INT64_MAX, INT64_MIN, type OrderId } from '../order.js';
import type { VersionedText } from '../store.js';

/** Rows read in one go: a millisecond or two, after which the event loop has its turn. */
export const PAGE = 500n;

/** No limit, in SQLite's words. */
export const ALL = -1n;

/** Some orders in sequence, from `first` up to the next page. The same object for as long as none of them changes. */
export interface Page {
  readonly first: OrderId;
}

export interface PrintedPage extends VersionedText {
  readonly version: Page;
  /** Whether it was read just now, and not merely found to be unchanged. */
  readonly isRead: boolean;
}

/** `printBatch` in SQL, a page as one text: its rows as objects would cost three times the time, and garbage of several times the list. */
const PRINTED_PAGE = `SELECT max(id) AS last, group_concat(json, ',') AS json FROM (
  SELECT id, '{"id":' || id
    || iif(pet_id IS NULL, '', ',"petId":' || pet_id)
    || iif(quantity IS NULL, '', ',"quantity":' || quantity)
    || iif(ship_date IS NULL, '', ',"shipDate":' || json_quote(ship_date))
    || iif(complete IS NULL, '', iif(complete, ',"complete":true', ',"complete":false'))
    || '}' AS json
  FROM orders WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?)`;

/** Reads all pages, within a transaction that the caller has begun. */
export function readPages(database: SqliteDatabase): Generator<PrintedPage> {
  return createPageReader(database).read(INT64_MIN, INT64_MAX, PAGE);
}

/** Likewise, but reads only those of the former `pages` in which an order has changed; `changed` are the ids, ascending. */
export function* readChangedPages(
  database: SqliteDatabase,
  pages: readonly Page[],
  changed: readonly OrderId[],
): Generator<PrintedPage> {
  const reader = createPageReader(database);
  let at = 0;
  for (const [index, version] of pages.entries()) {
    const next = pages[index + 1];
    const { first } = version;
    const last = next === undefined ? INT64_MAX : next.first - 1n;
    const before = at;
    while (isUpTo(changed[at], last)) at++;
    if (at === before) yield { version, text: () => reader.text(first, last), isRead: false };
    else yield* reader.read(first, last, next === undefined ? PAGE : reader.pageLength(first, last));
  }
}

function isUpTo(id: OrderId | undefined, last: OrderId): boolean {
  return id !== undefined && id <= last;
}

function createPageReader(database: SqliteDatabase) {
  const select = prepare(database, PRINTED_PAGE);
  const count = prepare(
    database,
    'SELECT count(*) AS orders FROM (SELECT 1 FROM orders WHERE id BETWEEN ? AND ? LIMIT ?)',
  );
  return {
    text: (first: OrderId, last: OrderId) => String(select.get(first, last, ALL)?.['json']),

    *read(from: OrderId, to: OrderId, length: bigint): Generator<PrintedPage> {
      let first = from;
      for (;;) {
        const { last, json } = select.get(first, to, length) ?? {};
        if (typeof json !== 'string' || typeof last !== 'bigint') return;
        yield { version: Object.freeze({ first }), text: () => json, isRead: true };
        if (last === to) return;
        first = last + 1n;
      }
    },

    /** A page may grow to twice its length before it becomes two. New orders mostly come last, where it is not let grow. */
    pageLength(first: OrderId, last: OrderId): bigint {
      const orders = Number(count.get(first, last, 2n * PAGE + 1n)?.['orders']);
      return orders > 2n * PAGE ? PAGE : 2n * PAGE;
    },
  };
}
