import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { INT64_MAX, INT64_MIN, type OrderId } from '../order.js';
import type { StreamedText } from '../store.js';

/** The number of orders in a page. Reading a page takes a millisecond or two. */
export const PAGE = 500n;

/**
 * How many pages a thread sends in one message. With one page per message, sending a long list
 * would take longer than reading it.
 */
const PAGES_AT_ONCE = 4;

/** The value of `LIMIT` that means "no limit" in SQLite. */
export const ALL = -1n;

/**
 * The orders with ids from `first` up to the next page. A page stays the same object as long as
 * none of its orders changes.
 */
export interface Page {
  readonly first: OrderId;
}

export interface PrintedPage extends StreamedText {
  readonly version: Page;
}

/** The orders of a page as one JSON text without brackets, and the id of the last order. */
export interface ReadPage {
  readonly last: OrderId;
  readonly json: string;
}

/** Reads pages from one snapshot, synchronously or on another thread. */
export interface PageReader {
  /**
   * Returns the next pages of at most `length` orders each, with ids from `first` up to `to`.
   * Returns {@link PAGES_AT_ONCE} pages, or fewer if there are no more orders.
   */
  readPages(first: OrderId, to: OrderId, length: bigint): readonly ReadPage[];
  /** Returns the JSON texts of all orders from `first` up to `last`, separated by commas. */
  pageText(first: OrderId, last: OrderId): string;
  /**
   * Returns the `length` to pass to `readPages` when the page with the orders from `first` up to
   * `last` is read again after a change.
   */
  pageLength(first: OrderId, last: OrderId): bigint;
}

/** A {@link PageReader} on another thread, so that every method returns a promise. */
export type RemotePageReader = {
  readonly [Name in keyof PageReader]: (
    ...parameters: Parameters<PageReader[Name]>
  ) => Promise<ReturnType<PageReader[Name]>>;
};

/**
 * Serialises a page in SQL, as `printBatch` does. Reading the rows as objects would take three
 * times as long, and create garbage several times as large as the list.
 */
const PRINTED_PAGE = `SELECT max(id) AS last, group_concat(json, ',') AS json FROM (
  SELECT id, '{"id":' || id
    || iif(pet_id IS NULL, '', ',"petId":' || pet_id)
    || iif(quantity IS NULL, '', ',"quantity":' || quantity)
    || iif(ship_date IS NULL, '', ',"shipDate":' || json_quote(ship_date))
    || iif(complete IS NULL, '', iif(complete, ',"complete":true', ',"complete":false'))
    || '}' AS json
  FROM orders WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?)`;

/**
 * A damaged file may return rows in any order. Reading on after the last row of a page could then
 * go on forever.
 */
export const OUT_OF_ORDER = 'its orders are not sorted by id, so it is damaged; run db check';

export function preparePages(database: SqliteDatabase): PageReader {
  const select = prepare(database, PRINTED_PAGE);
  const count = prepare(
    database,
    'SELECT count(*) AS orders FROM (SELECT 1 FROM orders WHERE id BETWEEN ? AND ? LIMIT ?)',
  );
  return {
    readPages(from, to, length) {
      const pages: ReadPage[] = [];
      for (let first = from; pages.length < PAGES_AT_ONCE; ) {
        const { last, json } = select.get(first, to, length) ?? {};
        if (typeof json !== 'string' || typeof last !== 'bigint') break;
        if (last < first) throw new Error(OUT_OF_ORDER);
        pages.push({ last, json });
        if (last === to) break;
        first = last + 1n;
      }
      return pages;
    },

    pageText: (first, last) => String(select.get(first, last, ALL)?.['json']),

    /**
     * A page is split only if it has more than twice {@link PAGE} orders. The last page is an
     * exception: {@link readChangedPages} does not call this function for it, and splits it as soon
     * as it has more than {@link PAGE} orders. Most new orders are added to the last page, so the
     * full pages before it seldom change.
     */
    pageLength(first, last) {
      const orders = Number(count.get(first, last, 2n * PAGE + 1n)?.['orders']);
      return orders > 2n * PAGE ? PAGE : 2n * PAGE;
    },
  };
}

/** Yields the pages of the orders with ids from `from` up to `to`. */
export async function* readPages(
  reader: RemotePageReader,
  from: OrderId = INT64_MIN,
  to: OrderId = INT64_MAX,
  length = PAGE,
): AsyncGenerator<PrintedPage> {
  let first = from;
  let asked = reader.readPages(first, to, length);
  for (;;) {
    const pages = await asked;
    const last = pages.at(-1)?.last;
    const isEnd = last === undefined || last === to || pages.length < PAGES_AT_ONCE;
    // The next pages are read while these are sent.
    if (!isEnd) {
      asked = reader.readPages(last + 1n, to, length);
      // If the read fails, `await asked` throws. Until then, Node.js must not report the rejection
      // as unhandled.
      asked.catch(() => {});
    }
    for (const { last, json } of pages) {
      yield { version: Object.freeze({ first }), text: () => json };
      first = last + 1n;
    }
    if (isEnd) return;
  }
}

/**
 * Yields the pages of a new list. A page of the previous list (`pages`) is reused if none of its
 * orders has changed. Otherwise, its orders are read again. `changed` has the ids of the changed
 * orders in ascending order.
 */
export async function* readChangedPages(
  reader: RemotePageReader,
  pages: readonly Page[],
  changed: readonly OrderId[],
): AsyncGenerator<PrintedPage> {
  let at = 0;
  for (const [index, version] of pages.entries()) {
    const next = pages[index + 1];
    const { first } = version;
    const last = next === undefined ? INT64_MAX : next.first - 1n;
    const before = at;
    while (isUpTo(changed[at], last)) at++;
    if (at === before) yield { version, text: () => reader.pageText(first, last) };
    else yield* readPages(reader, first, last, next === undefined ? PAGE : await reader.pageLength(first, last));
  }
}

function isUpTo(id: OrderId | undefined, last: OrderId): boolean {
  return id !== undefined && id <= last;
}
