import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { INT64_MAX, INT64_MIN } from '../order.js';
import type { OrderRecord } from '../record.js';
import type { ListedOrders, VersionedText } from '../store.js';
import { changesSince, revisionOf } from './change-log.js';
import { ALL, PAGE, type Page, readChangedPages, readPages } from './pages.js';
import { orderOf, recordOf } from './table.js';

/** A change by another process is listed after this at the latest: to look at each list would cost it 2 to 5 µs, a fifth of a request. */
const CHANGES_LISTED_AFTER_MS = 100;

export interface Snapshots {
  /**
   * A frozen array, or above one page, where the file can be opened again, a frozen iterable that reads page by page from
   * one read transaction on a handle of its own. The same object for as long as the listed fields do not change, in
   * whatever process; a status is not listed.
   */
  list(): ListedOrders;
  /** This process has changed what is listed: the next list shows it. */
  changed(): void;
}

/** Lists the orders of a database that has the tables. */
export function createSnapshots(database: SqliteDatabase, open?: () => SqliteDatabase): Snapshots {
  const selectRevision = prepare(database, 'SELECT revision FROM orders_revision');
  const selectAtMost = prepare(database, 'SELECT * FROM orders ORDER BY id LIMIT ?');
  const stream = open && createStreams(open);
  let remembered: { readonly revision: unknown; readonly orders: ListedOrders } | undefined;
  let lookedMs = Number.NEGATIVE_INFINITY;

  return {
    list() {
      const nowMs = performance.now();
      if (remembered !== undefined && nowMs - lookedMs < CHANGES_LISTED_AFTER_MS) return remembered.orders;
      const revision = selectRevision.get()?.['revision'];
      if (remembered === undefined || remembered.revision !== revision) {
        // Read after its revision, a list may be newer than its label, never older: then it is read once more next time.
        const rows = selectAtMost.all(stream === undefined ? ALL : PAGE + 1n);
        const orders = stream !== undefined && rows.length > PAGE ? stream() : Object.freeze(rows.map(orderOf));
        remembered = { revision, orders };
      }
      // Not before all has been read: else the list before would be shown after one that failed.
      lookedMs = nowMs;
      return remembered.orders;
    },

    changed() {
      lookedMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Makes lists that know of each other which pages have changed since. */
function createStreams(open: () => SqliteDatabase): () => AsyncIterable<VersionedText> {
  let newest: { readonly revision: bigint; readonly pages: readonly Page[] } | undefined;

  /** What has been read by whoever reads everything. */
  let whole: readonly Page[] | undefined;

  async function* read(database: SqliteDatabase): AsyncGenerator<VersionedText> {
    database.exec('BEGIN');
    const revision = revisionOf(database);
    const changed = newest && changesSince(database, newest.revision);
    const pages: Page[] = [];
    if (changed === undefined) whole = pages;
    try {
      const printed = newest && changed ? readChangedPages(database, newest.pages, changed) : readPages(database);
      for (const page of printed) {
        pages.push(page.version);
        yield page;
        if (page.isRead) await new Promise((resolve) => setImmediate(resolve));
      }
      database.exec('COMMIT');
      newest = { revision, pages };
    } finally {
      if (whole === pages) whole = undefined;
    }
  }

  return () =>
    Object.freeze({
      async *[Symbol.asyncIterator]() {
        let seen: readonly Page[] | undefined;
        let count = 0;
        // Two who read everything would do it twice. One who stopped midway, without a page in two turns, is not waited for.
        while (whole !== undefined && (whole !== seen || whole.length > count)) {
          seen = whole;
          count = whole.length;
          await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
        }
        const database = open();
        try {
          yield* read(database);
        } finally {
          database.close();
        }
      },
    });
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
