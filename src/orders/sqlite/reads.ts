import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { Order, OrderId } from '../order.js';
import type { OrderRecord } from '../record.js';
import { prepareChangeLog } from './change-log.js';
import { type PageReader, preparePages, type ReadPage } from './pages.js';
import { orderOf, recordOf } from './table.js';

/**
 * The result of a check for changes. `orders` is absent if nothing has changed, or if there are
 * more orders than the caller wants.
 */
export interface Look {
  readonly revision: bigint;
  readonly isChanged: boolean;
  readonly orders?: readonly Order[];
}

/**
 * The functions that read orders. They take and return plain data, because they also run in a
 * worker.
 */
export type OrderReads = {
  /**
   * Reports whether the orders have changed since the revision `known`. If they have changed, and
   * there are no more than `most` orders in total, returns all of them too. A negative `most` means
   * no limit.
   */
  look(known: bigint | undefined, most: bigint): Look;
  get(id: OrderId): OrderRecord | undefined;
  /**
   * Begins to read a long list from one snapshot. `list` is a number that the caller chooses, a
   * different one for each list.
   */
  beginList(list: number): void;
  readPages(list: number, first: OrderId): readonly ReadPage[];
  endList(list: number): void;
};

/**
 * Prepares the functions that read a database. Its tables must exist. `openAnother` opens the same
 * database again.
 */
export function prepareReads(database: SqliteDatabase, openAnother: () => SqliteDatabase): OrderReads {
  const { revision } = prepareChangeLog(database);
  const selectAtMost = prepare(database, 'SELECT * FROM orders ORDER BY id LIMIT ?');
  const selectOne = prepare(database, 'SELECT * FROM orders WHERE id = ?');
  const lists = createSnapshots(openAnother);

  return {
    look(known, most) {
      const found = revision();
      if (found === known) return { revision: found, isChanged: false };
      // The rows are read after the revision, so the list may be newer than its revision but never
      // older. If the list is newer, the next check reads all rows again.
      const rows = selectAtMost.all(most < 0n ? most : most + 1n);
      const isLong = most >= 0n && rows.length > most;
      return { revision: found, isChanged: true, ...(!isLong && { orders: rows.map(orderOf) }) };
    },

    get(id) {
      const row = selectOne.get(id);
      return row && recordOf(row);
    },

    ...lists,
  };
}

/** A database handle with its statements. It reads one list at a time. */
interface Snapshot extends PageReader {
  begin(): void;
  end(): void;
}

/**
 * Opens a handle for each list in progress, because a handle has one snapshot at a time. When a
 * list ends, its handle is kept for a later list and not closed. libsql closes the file of a closed
 * handle only after all statements of the handle have been garbage-collected, so a new handle for
 * each list would leave many files open.
 */
function createSnapshots(openAnother: () => SqliteDatabase): Omit<OrderReads, 'look' | 'get'> {
  const idle: Snapshot[] = [];
  const lent = new Map<number, Snapshot>();

  function lentTo(list: number): Snapshot {
    const snapshot = lent.get(list);
    if (snapshot === undefined) throw new Error('this list is no longer being read');
    return snapshot;
  }

  return {
    beginList(list) {
      const snapshot = idle.pop() ?? prepareSnapshot(openAnother());
      lent.set(list, snapshot);
      snapshot.begin();
    },

    readPages: (list, first) => lentTo(list).readPages(first),

    endList(list) {
      const snapshot = lent.get(list);
      if (snapshot === undefined) return;
      lent.delete(list);
      snapshot.end();
      idle.push(snapshot);
    },
  };
}

function prepareSnapshot(database: SqliteDatabase): Snapshot {
  return {
    ...preparePages(database),
    begin: () => void database.exec('BEGIN'),
    end: () => void database.exec('COMMIT'),
  };
}
