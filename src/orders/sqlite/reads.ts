import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { Order, OrderId } from '../order.js';
import type { OrderRecord } from '../record.js';
import { prepareChangeLog } from './change-log.js';
import { type PageReader, preparePages, type ReadPage } from './pages.js';
import { orderOf, recordOf } from './table.js';

/** What a look at the orders finds. `orders` is absent if nothing has changed, or if there are more than asked for. */
export interface Look {
  readonly revision: bigint;
  readonly isChanged: boolean;
  readonly orders?: readonly Order[];
}

/** A long list as it begins. */
export interface BegunList {
  readonly revision: bigint;
  /** The ids put since the revision that was asked about; `undefined` if they are not known. */
  readonly changed: readonly OrderId[] | undefined;
}

/** What can be read of orders. Functions of plain data: they run in a worker too. */
export type OrderReads = {
  /** Whether the orders are other ones than at the `known` revision, and which, if they are at most so many. */
  look(known: bigint | undefined, most: bigint): Look;
  get(id: OrderId): OrderRecord | undefined;
  /** Begins to read a long list, from one snapshot. The number is the caller's, and another one for each list. */
  beginList(list: number, since: bigint | undefined): BegunList;
  readPages(list: number, first: OrderId, to: OrderId, length: bigint): readonly ReadPage[];
  pageText(list: number, first: OrderId, last: OrderId): string;
  pageLength(list: number, first: OrderId, last: OrderId): bigint;
  endList(list: number): void;
};

/** On a database that has the tables; `openAnother` opens it once more. */
export function prepareReads(database: SqliteDatabase, openAnother: () => SqliteDatabase): OrderReads {
  const { revision } = prepareChangeLog(database);
  const selectAtMost = prepare(database, 'SELECT * FROM orders ORDER BY id LIMIT ?');
  const selectOne = prepare(database, 'SELECT * FROM orders WHERE id = ?');
  const lists = createSnapshots(openAnother);

  return {
    look(known, most) {
      const found = revision();
      if (found === known) return { revision: found, isChanged: false };
      // Read after its revision, a list may be newer than its label, never older: then it is read again next time.
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

/** A handle for lists, with its statements. */
interface Snapshot extends PageReader {
  begin(since: bigint | undefined): BegunList;
  end(): void;
}

/**
 * Lists that are being read each have a handle for themselves, because a handle has one snapshot at a time. A handle is
 * kept for the next list: some drivers let go of a file only when the garbage collector has found every statement.
 */
function createSnapshots(openAnother: () => SqliteDatabase): Omit<OrderReads, 'look' | 'get'> {
  const idle: Snapshot[] = [];
  const lent = new Map<number, Snapshot>();

  function lentTo(list: number): Snapshot {
    const snapshot = lent.get(list);
    if (snapshot === undefined) throw new Error('the list has ended');
    return snapshot;
  }

  return {
    beginList(list, since) {
      const snapshot = idle.pop() ?? prepareSnapshot(openAnother());
      lent.set(list, snapshot);
      return snapshot.begin(since);
    },

    readPages: (list, first, to, length) => lentTo(list).readPages(first, to, length),
    pageText: (list, first, last) => lentTo(list).pageText(first, last),
    pageLength: (list, first, last) => lentTo(list).pageLength(first, last),

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
  const { revision, changesSince } = prepareChangeLog(database);
  return {
    ...preparePages(database),

    begin(since) {
      database.exec('BEGIN');
      return { revision: revision(), changed: since === undefined ? undefined : changesSince(since) };
    },

    end: () => void database.exec('COMMIT'),
  };
}
