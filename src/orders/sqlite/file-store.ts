// webpack recognises only this name of the module.
// biome-ignore lint/style/useNodejsImportProtocol: see above
import { Worker } from 'worker_threads';
import { isLate } from '../../databases/sqlite/failure.js';
import { openSqliteFile, type SqliteFile } from '../../databases/sqlite/file.js';
import type { StartThread } from '../../databases/sqlite/remote.js';
import type { OpenFile } from '../../databases/sqlite/worker.js';
import { ifBundled } from '../../message-of.js';
import { createNewestList } from '../newest-list.js';
import { toOrderRecords } from '../record.js';
import { isReplacing, type SharedOrderStore } from '../store.js';
import { createListReader, type ListReader } from './list.js';
import { createOrders, type SqliteOrderStore } from './store.js';
import { ORDERS_SCHEMA } from './table.js';

/**
 * A {@link SharedOrderStore} in a SQLite file, which it reads and writes on threads of its own. A
 * change is on disk before the store reports it as done. While the disk hangs, `list` returns the
 * most recent list.
 */
export interface SqliteFileOrderStore extends SharedOrderStore {
  /**
   * Resolves if the file can be read and, after a failed write, written again. Otherwise rejects
   * with the reason, for example a full disk.
   */
  probe(): Promise<void>;
  /** Rejects if the file cannot be closed because its disk does not respond. */
  close(): Promise<void>;
}

/** The objects of an order store that a worker runs. */
export interface OrderParts {
  readonly orders: Pick<SqliteOrderStore, 'cancel' | 'ship' | 'put' | 'get'>;
  readonly list: ListReader;
}

/** Creates, in a worker, the objects that {@link createFileOrders} calls. */
export function createOrderParts(file: OpenFile): OrderParts {
  return { orders: createOrders(file.database, file.queue), list: createListReader(file) };
}

/**
 * Creates an order store over a file, which it opens with the first driver available (see
 * `openSqliteDatabase`). A missing file is created, readable only by its owner. Of two workers, one
 * reads and one commits, so that a slow disk blocks neither the event loop nor lists. Failures of
 * the file are `SqliteFileError`s. In this process, open the file only with `openSqliteDatabase`:
 * another SQLite library, or a copy with `node:fs`, drops the locks of the workers. Throws in the
 * same cases as `createSqliteOrderStore`, if there is no driver, and for `:memory:`, because two
 * handles cannot share a database in memory.
 */
export function openSqliteOrderStore(file: string): SqliteFileOrderStore {
  if (typeof file !== 'string' || file === ':memory:' || file === '') {
    throw new TypeError('file: expected the name of a file; for a store in memory, use createMemoryOrderStore');
  }
  return createFileOrders(openSqliteFile<OrderParts>(startThread, file, ORDERS_SCHEMA));
}

const startThread: StartThread = (options) => {
  // webpack bundles the module of a thread that is started by exactly these words.
  try {
    return new Worker(new URL('./order-store-worker.js', import.meta.url), options);
  } catch (error) {
    throw new Error(`its thread cannot be started${ifBundled}`, { cause: error });
  }
};

/** Creates an order store over a file whose workers run {@link OrderParts}. */
export function createFileOrders(file: SqliteFile<OrderParts>): SqliteFileOrderStore {
  const { cancel, ship } = file.writer.orders;
  const { list, noteChange } = createNewestList({
    readRevision: file.reader.list.revision,
    async *readPages() {
      yield* await file.reader.list.pages();
    },
    // While the disk hangs, no order can change, so the last list is good enough.
    isUnchangeable: isLate,
  });
  return {
    list,
    cancel: (id) => cancel(id),
    ship: (id) => ship(id),

    async put(input, options) {
      // Invalid input is rejected here, because a worker's TypeError would arrive as a failure of
      // the file.
      const replace = isReplacing(options);
      const records = toOrderRecords(input);
      return file.writerFor(records.length).orders.put(records, { replace }).finally(noteChange);
    },

    get: (id) => file.reader.orders.get(id),
    probe: file.probe,
    close: file.close,
  };
}
