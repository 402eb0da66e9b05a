import { setImmediate as nextTurn } from 'node:timers/promises';
import { isLate, isMoved } from '../../databases/sqlite/failure.js';
import { openSqliteFile, type SqliteFile } from '../../databases/sqlite/file.js';
import type { Host } from '../../databases/sqlite/worker.js';
import type { CancelOutcome, ShipOutcome } from '../cancellation.js';
import type { OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrderRecords } from '../record.js';
import {
  isReplacing,
  type ListedOrders,
  type OrderPages,
  type OwnedOrderStore,
  type PutOptions,
  type PutOutcome,
  withVersion,
} from '../store.js';
import { createListReader, type ListReader } from './list.js';
import { CHANGES_LISTED_AFTER_MS, createOrders, type SqliteOrderStore } from './store.js';
import { ORDERS_SCHEMA } from './table.js';

/**
 * An {@link OwnedOrderStore} in a SQLite file, which it reads and writes on threads of its own. A
 * change is on disk before the store reports it as done.
 */
export interface SqliteFileOrderStore extends OwnedOrderStore {
  /**
   * Returns an array, or pages if there are more than 500 orders, both with a version. The list
   * shows this store's own puts immediately, and puts of another process at most a tenth of a
   * second later. While the disk hangs, returns the most recent list.
   */
  list(): ListedOrders | Promise<ListedOrders>;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): Promise<OrderRecord | undefined>;
  ship(id: OrderId): Promise<ShipOutcome>;
  /**
   * Resolves if the file can be read and, after a failed write, written again. Otherwise rejects
   * with the reason, for example a full disk.
   */
  probe(): Promise<void>;
  /** Rejects if the file cannot be closed because its disk does not respond. */
  close(): Promise<void>;
}

/** The objects of an order store that a worker hosts. */
export interface OrderParts {
  readonly orders: Pick<SqliteOrderStore, 'cancel' | 'ship' | 'put' | 'get'>;
  readonly list: ListReader;
}

/** Creates, in a worker, the objects that {@link createFileOrders} calls. */
export function createOrderParts(host: Host): OrderParts {
  return { orders: createOrders(host.database, host.queue), list: createListReader(host) };
}

/**
 * Creates an order store over a file, which it opens with the first driver available (see
 * `openSqliteDatabase`). A missing file is created, readable only by its owner. Of two workers, one
 * reads and one commits, so that a slow disk blocks neither the event loop nor lists. Failures of
 * the file are `SqliteFileError`s. Throws in the same cases as `createSqliteOrderStore`, if there is
 * no driver, and for `:memory:`, because two handles cannot share a database in memory.
 */
export function openSqliteOrderStore(file: string): SqliteFileOrderStore {
  if (typeof file !== 'string' || file === ':memory:' || file === '') {
    throw new TypeError('file: expected the name of a file; for a store in memory, use createMemoryOrderStore');
  }
  return createFileOrders(openSqliteFile<OrderParts>(new URL('./worker.js', import.meta.url), file, ORDERS_SCHEMA));
}

/** Creates an order store over a file whose workers host {@link OrderParts}. */
export function createFileOrders(file: SqliteFile<OrderParts>): SqliteFileOrderStore {
  const { cancel, ship, put } = file.writer.orders;
  const { list, changed } = createFileList(file);
  return {
    list,
    cancel: (id) => cancel(id),
    ship: (id) => ship(id),

    async put(input, options) {
      // Invalid input is rejected here, because a worker's TypeError would arrive as a failure of
      // the file.
      const replace = isReplacing(options);
      const records = toOrderRecords(input);
      try {
        return await put(records, { replace });
      } finally {
        changed();
      }
    },

    get: (id) => file.reader.orders.get(id),
    probe: file.probe,
    close: file.close,
  };
}

/** Remembers the most recent list, so that it is read again only after a change. */
function createFileList({ reader }: SqliteFile<OrderParts>) {
  /** How many puts this process has done. The list must show all of them. */
  let puts = 0;
  let readings = 0;
  let last: { version: string; orders: ListedOrders; puts: number; checkedMs: number } | undefined;
  let checking: { readonly puts: number; readonly found: Promise<ListedOrders> } | undefined;

  async function check(): Promise<ListedOrders> {
    const before = { puts, checkedMs: performance.now() };
    try {
      const known = last;
      const { version, few } = await reader.list.checkForChanges(known?.version);
      const changed = few === undefined ? pages() : withVersion(few);
      last = { version, orders: known?.version === version ? known.orders : changed, ...before };
    } catch (error) {
      // While the disk hangs, no order can change.
      if (!isLate(error) || last?.puts !== puts) throw error;
    } finally {
      if (checking?.puts === before.puts) checking = undefined;
    }
    return last.orders;
  }

  function pages(): OrderPages {
    return {
      version: crypto.randomUUID(),

      async *[Symbol.asyncIterator]() {
        const reading = ++readings;
        try {
          for (;;) {
            const page = await reader.list.next(reading);
            if (page === undefined) return;
            yield page;
            // Cancels that arrive meanwhile are sent before the next page is requested.
            await nextTurn();
          }
        } finally {
          end(reading);
        }
      },
    };
  }

  /**
   * Ends a reading, and tries again while the disk hangs or the file is away, because an open
   * snapshot lets the log grow.
   */
  function end(reading: number): void {
    reader.list.end(reading).catch((error) => {
      if (isLate(error) || isMoved(error)) setTimeout(end, CHANGES_LISTED_AFTER_MS, reading).unref();
    });
  }

  return {
    list(): ListedOrders | Promise<ListedOrders> {
      const isNew = last?.puts === puts && performance.now() - last.checkedMs < CHANGES_LISTED_AFTER_MS;
      if (last !== undefined && isNew) return last.orders;
      if (checking?.puts !== puts) checking = { puts, found: check() };
      return checking.found;
    },

    /** Makes the next list show a change by this process. */
    changed(): void {
      puts++;
    },
  };
}
