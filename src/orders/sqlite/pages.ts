import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { INT64_MAX, INT64_MIN, type OrderId } from '../order.js';

/** The number of orders in a page. Reading a page takes a millisecond or two. */
export const PAGE = 500n;

/**
 * How many pages a thread sends in one message. With one page per message, sending a long list
 * would take longer than reading it.
 */
const PAGES_AT_ONCE = 4;

/** The value of `LIMIT` that means "no limit" in SQLite. */
export const ALL = -1n;

/** The orders of a page as one JSON text without brackets, and the id of the last order. */
export interface ReadPage {
  readonly last: OrderId;
  readonly json: string;
}

/** Reads pages from one snapshot. */
export interface PageReader {
  /**
   * Returns the next pages of orders with ids from `first`. Returns {@link PAGES_AT_ONCE} pages, or
   * fewer if there are no more orders.
   */
  readPages(first: OrderId): readonly ReadPage[];
}

/**
 * Serialises a page in SQL, as `serializeOrder` does. Reading the rows as objects would take three
 * times as long, and create garbage several times as large as the list.
 */
const PRINTED_PAGE = `SELECT max(id) AS last, group_concat(json, ',') AS json FROM (
  SELECT id, '{"id":' || id
    || iif(pet_id IS NULL, '', ',"petId":' || pet_id)
    || iif(quantity IS NULL, '', ',"quantity":' || quantity)
    || iif(ship_date IS NULL, '', ',"shipDate":' || json_quote(ship_date))
    || iif(complete IS NULL, '', iif(complete, ',"complete":true', ',"complete":false'))
    || '}' AS json
  FROM orders WHERE id >= ? ORDER BY id LIMIT ?)`;

/**
 * A damaged file may return rows in any order. Reading on after the last row of a page could then
 * go on forever.
 */
export const OUT_OF_ORDER = 'its orders are not sorted by id, so it is damaged; run db check';

export function preparePages(database: SqliteDatabase): PageReader {
  const select = prepare(database, PRINTED_PAGE);
  return {
    readPages(from) {
      const pages: ReadPage[] = [];
      for (let first = from; pages.length < PAGES_AT_ONCE; ) {
        const { last, json } = select.get(first, PAGE) ?? {};
        if (typeof json !== 'string' || typeof last !== 'bigint') break;
        if (last < first) throw new Error(OUT_OF_ORDER);
        pages.push({ last, json });
        if (last === INT64_MAX) break;
        first = last + 1n;
      }
      return pages;
    },
  };
}

/** Yields the pages of all orders, which `ask` reads on another thread. */
export async function* readPages(ask: (first: OrderId) => Promise<readonly ReadPage[]>): AsyncGenerator<string> {
  let asked = ask(INT64_MIN);
  for (;;) {
    const pages = await asked;
    const last = pages.at(-1)?.last;
    const isEnd = last === undefined || last === INT64_MAX || pages.length < PAGES_AT_ONCE;
    // The next pages are read while these are sent.
    if (!isEnd) {
      asked = ask(last + 1n);
      // If the read fails, `await asked` throws. Until then, Node.js must not report the rejection
      // as unhandled.
      asked.catch(() => {});
    }
    for (const { json } of pages) yield json;
    if (isEnd) return;
  }
}
