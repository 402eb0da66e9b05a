import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { INT64_MAX, INT64_MIN, type OrderId } from '../order.js';
import type { StreamedText } from '../store.js';

/** Rows read in one go, in a millisecond or two. */
export const PAGE = 500n;

/** Pages for one message from thread to thread: with one each, a long list takes longer to send than to read. */
const PAGES_AT_ONCE = 4;

/** No limit, in SQLite's words. */
export const ALL = -1n;

/** Some orders in sequence, from `first` up to the next page. The same object for as long as none of them changes. */
export interface Page {
  readonly first: OrderId;
}

export interface PrintedPage extends StreamedText {
  readonly version: Page;
}

/** The orders of a page as one text, and the id of the last of them. */
export interface ReadPage {
  readonly last: OrderId;
  readonly json: string;
}

/** Reads pages, all from one snapshot; at once, or on another thread. */
export interface PageReader {
  /** Pages of at most `length` orders, from `first` up to `to`: {@link PAGES_AT_ONCE}, or fewer if there are no more. */
  readPages(first: OrderId, to: OrderId, length: bigint): readonly ReadPage[];
  /** All orders from `first` up to `last`. */
  pageText(first: OrderId, last: OrderId): string;
  /** How many orders there should be on a page that has been changed. */
  pageLength(first: OrderId, last: OrderId): bigint;
}

/** The same on another thread. */
export type RemotePageReader = {
  readonly [Name in keyof PageReader]: (
    ...parameters: Parameters<PageReader[Name]>
  ) => Promise<ReturnType<PageReader[Name]>>;
};

/** `printBatch` in SQL, a page as one text: its rows as objects would cost three times the time, and garbage of several times the list. */
const PRINTED_PAGE = `SELECT max(id) AS last, group_concat(json, ',') AS json FROM (
  SELECT id, '{"id":' || id
    || iif(pet_id IS NULL, '', ',"petId":' || pet_id)
    || iif(quantity IS NULL, '', ',"quantity":' || quantity)
    || iif(ship_date IS NULL, '', ',"shipDate":' || json_quote(ship_date))
    || iif(complete IS NULL, '', iif(complete, ',"complete":true', ',"complete":false'))
    || '}' AS json
  FROM orders WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?)`;

/** A damaged tree may have its rows in any order: who reads on after the last of them would read for ever. */
export const OUT_OF_ORDER = 'its orders are out of order, so it is damaged; run db check';

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

    /** A page may grow to twice its length before it becomes two. New orders mostly come last, where it is not let grow. */
    pageLength(first, last) {
      const orders = Number(count.get(first, last, 2n * PAGE + 1n)?.['orders']);
      return orders > 2n * PAGE ? PAGE : 2n * PAGE;
    },
  };
}

/** Reads the pages of a range. */
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
    // What comes next is read while this is printed.
    if (!isEnd) {
      asked = reader.readPages(last + 1n, to, length);
      // A failure is met when it is awaited, if it ever is.
      asked.catch(() => {});
    }
    for (const { last, json } of pages) {
      yield { version: Object.freeze({ first }), text: () => json };
      first = last + 1n;
    }
    if (isEnd) return;
  }
}

/** Reads of the former `pages` only those in which an order has changed; `changed` are the ids, ascending. */
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
