import { checkDatabase, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { createSqliteFile, openPrepared, prepareFile, type Read } from '../../databases/sqlite/file.js';
import type { Reads } from '../../databases/sqlite/file-thread.js';
import { commitTogether, type Writes } from '../../databases/sqlite/group-commit.js';
import type { Schemas } from '../../databases/sqlite/migration.js';
import { createWriteQueue, type Write } from '../../databases/sqlite/write-queue.js';
import type { CancelOutcome, ShipOutcome } from '../cancellation.js';
import { checkFields } from '../options.js';
import type { OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrderRecords } from '../record.js';
import type { ListedOrders, OwnedOrderStore, PutOptions, PutOutcome } from '../store.js';
import { createFileList, createRememberedList } from './list.js';
import { ALL } from './pages.js';
import { prepareReads } from './reads.js';
import { ORDERS_SCHEMA } from './table.js';
import { type OrderWrites, prepareWrites } from './writes.js';

/** {@link OwnedOrderStore} over a SQLite handle. An acknowledged change is on disk. */
export interface SqliteOrderStore extends OwnedOrderStore {
  /**
   * Returns a frozen array. It shows this store's own puts at once, and those of another process at
   * most a tenth of a second later.
   */
  list(): ListedOrders;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): OrderRecord | undefined;
  ship(id: OrderId): Promise<ShipOutcome>;
  close(): Promise<void>;
}

/**
 * {@link OwnedOrderStore} in a SQLite file that is read and written on threads of its own. An
 * acknowledged change is on disk.
 */
export interface SqliteFileOrderStore extends OwnedOrderStore {
  /**
   * Returns a frozen array, or frozen batches if there are more than 500 orders. It shows this
   * store's own puts at once, and those of another process at most a tenth of a second later. While
   * the disk hangs, returns the most recent list.
   */
  list(): ListedOrders | Promise<ListedOrders>;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): Promise<OrderRecord | undefined>;
  ship(id: OrderId): Promise<ShipOutcome>;
  /**
   * Resolves while the file can be read and written. Rejects with the reason if not, for example a
   * full disk.
   */
  probe(): Promise<void>;
  /** Rejects if the file cannot be closed because its disk does not respond. */
  close(): Promise<void>;
}

/** The host's own tables in the same database, which share commits with the orders. */
export interface HandleParts<W extends Writes> {
  /**
   * The statements that migrate the tables from each version to the next, by a name for each group
   * of tables.
   */
  readonly schemas: Schemas;
  /**
   * Creates the functions that write. Each runs inside a transaction of the store. Their names must
   * differ from `cancel`, `ship` and `put`.
   */
  prepareWrites(database: SqliteDatabase): W;
}

/** The host's own tables in the store's file. */
export interface FileParts {
  readonly schemas: Schemas;
  /**
   * URLs of modules for the threads, each with `prepareReads(database)`, `prepareWrites(database)`
   * or both.
   */
  readonly modules: readonly string[];
}

/**
 * Creates an order store over an open handle of node:sqlite, better-sqlite3 or libsql. The caller
 * closes the handle. The file must be new or created by this store. Sets WAL and
 * `synchronous=FULL`, and throws if SQLite rejects these settings, or if the file belongs to
 * another program or has a newer version. Also sets `busy_timeout=0`, because the store waits for
 * other processes' locks itself, without blocking the event loop.
 *
 * Everything runs on the handle's own thread, so each commit blocks the event loop for an fsync.
 */
export function createSqliteOrderStore<W extends Writes = Record<never, never>>(
  database: SqliteDatabase,
  parts?: HandleParts<W>,
): SqliteOrderStore & { readonly write: Write<W> } {
  checkDatabase(database);
  if (parts !== undefined) checkFields('parts', parts, ['schemas', 'prepareWrites']);
  prepareFile(database, { ...ORDERS_SCHEMA, ...parts?.schemas });
  const writes = { ...prepareWrites(database), ...parts?.prepareWrites(database) };
  const { write, idle } = createWriteQueue((calls) => commitTogether(database, writes, calls));
  const { look, get } = prepareReads(database, () => database);
  const remembered = createRememberedList();
  return {
    ...writesThrough(write, remembered.changed),
    write,
    get,
    list: () => remembered.fresh() ?? remembered.take(look(remembered.revision(), ALL)),
    close: idle,
  };
}

/** The modules with the reads and writes of orders, which the threads import. */
const ORDER_MODULES = [new URL('./reads.js', import.meta.url).href, new URL('./writes.js', import.meta.url).href];

/**
 * Creates an order store over a file, which it opens with the first driver available (see
 * `openSqliteDatabase`). A missing file is created, readable only by its owner. The store reads and
 * commits on threads of its own, so that no disk blocks the event loop, and it streams a long list.
 * Failures of the file are {@link SqliteFileError}s. Throws in the same cases as
 * `createSqliteOrderStore`, if there is no driver, and for `:memory:`, which two handles cannot
 * share.
 */
export function openSqliteOrderStore<R extends Reads = Record<never, never>, W extends Writes = Record<never, never>>(
  file: string,
  parts?: FileParts,
): SqliteFileOrderStore & { readonly read: Read<R>; readonly write: Write<W> } {
  if (parts !== undefined) checkFields('parts', parts, ['schemas', 'modules']);
  if (file === ':memory:' || file === '') {
    throw new TypeError('file: expected the name of a file; for a store in memory, use createMemoryOrderStore');
  }
  const { database, identity } = openPrepared(file, { ...ORDERS_SCHEMA, ...parts?.schemas });
  database.close();
  const modules = [...ORDER_MODULES, ...(parts?.modules ?? [])];
  const opened = createSqliteFile(file, identity, modules);
  const { list, changed } = createFileList(opened);
  return {
    ...writesThrough(opened.write, changed),
    list,
    get: (id) => opened.read('get', id),
    read: opened.read,
    write: opened.write,
    probe: opened.probe,
    close: opened.close,
  };
}

/**
 * Creates the writes of a store over a handle or over a file. Each write is part of the next
 * commit.
 */
function writesThrough(
  write: Write<OrderWrites>,
  changed: () => void,
): Pick<SqliteOrderStore, 'cancel' | 'ship' | 'put'> {
  return {
    cancel: (id) => write('cancel', id),
    ship: (id) => write('ship', id),

    async put(orders, { replace = false } = {}) {
      try {
        return await write('put', toOrderRecords(orders), replace);
      } finally {
        changed();
      }
    },
  };
}
