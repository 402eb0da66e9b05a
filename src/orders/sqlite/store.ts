import { checkFields } from '../../check.js';
import { checkDatabase, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { createSqliteFile, openPrepared, prepareFile, type Read } from '../../databases/sqlite/file.js';
import type { Reads } from '../../databases/sqlite/file-thread.js';
import { commitTogether, type Writes } from '../../databases/sqlite/group-commit.js';
import type { Schemas } from '../../databases/sqlite/migration.js';
import { createWriteQueue, type Write } from '../../databases/sqlite/write-queue.js';
import type { CancelOutcome, ShipOutcome } from '../cancellation.js';
import { isReplacing } from '../options.js';
import type { OrderId } from '../order.js';
import { type OrderInput, type OrderRecord, toOrderRecords } from '../record.js';
import type { ListedOrders, OwnedOrderStore, PutOptions, PutOutcome } from '../store.js';
import { createFileList, createRememberedList } from './list.js';
import { ALL } from './pages.js';
import { prepareReads } from './reads.js';
import { ORDERS_SCHEMA } from './table.js';
import { type OrderWrites, prepareWrites } from './writes.js';

/**
 * An {@link OwnedOrderStore} over a SQLite handle. A change is on disk before the store reports it
 * as done.
 */
export interface SqliteOrderStore extends OwnedOrderStore {
  /**
   * Returns a frozen array. It shows this store's own puts immediately, and puts of another process
   * at most a tenth of a second later.
   */
  list(): ListedOrders;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): OrderRecord | undefined;
  ship(id: OrderId): Promise<ShipOutcome>;
  close(): Promise<void>;
}

/**
 * An {@link OwnedOrderStore} in a SQLite file, which it reads and writes on threads of its own. A
 * change is on disk before the store reports it as done.
 */
export interface SqliteFileOrderStore extends OwnedOrderStore {
  /**
   * Returns a frozen array, or pages if there are more than 500 orders. The list shows
   * this store's own puts immediately, and puts of another process at most a tenth of a second
   * later. While the disk hangs, returns the most recent list.
   */
  list(): ListedOrders | Promise<ListedOrders>;
  cancel(id: OrderId): Promise<CancelOutcome>;
  put(orders: Iterable<OrderInput>, options?: PutOptions): Promise<PutOutcome>;
  get(id: OrderId): Promise<OrderRecord | undefined>;
  ship(id: OrderId): Promise<ShipOutcome>;
  /**
   * Resolves if the file can be read and written. Otherwise rejects with the reason, for example a
   * full disk.
   */
  probe(): Promise<void>;
  /** Rejects if the file cannot be closed because its disk does not respond. */
  close(): Promise<void>;
}

/**
 * Tables of the embedding program in the same database. One commit can change these tables and the
 * orders.
 */
export interface HandleParts<W extends Writes> {
  /**
   * Each entry is one group of tables, under a name of your choice. Its value has the statements
   * that migrate these tables from each version to the next.
   */
  readonly schemas: Schemas;
  /**
   * Creates the functions that write to these tables. Each call runs inside a transaction of the
   * store. The functions must not be named `cancel`, `ship` or `put`.
   */
  prepareWrites(database: SqliteDatabase): W;
}

/** The embedding program's own tables in the store's file. */
export interface FileParts {
  readonly schemas: Schemas;
  /**
   * The URLs of modules that the threads of the store import. Each module exports
   * `prepareReads(database)`, `prepareWrites(database)` or both.
   */
  readonly modules: readonly string[];
}

/**
 * Creates an order store over an open handle of node:sqlite, better-sqlite3 or libsql. The caller
 * closes the handle. The file must be new or created by this store. Sets WAL and
 * `synchronous=FULL`, and throws if SQLite rejects either. Also throws if the file belongs to
 * another program, or if its tables have a newer version. Sets `busy_timeout=0`, because the store
 * waits for other processes' locks itself, without blocking the event loop.
 *
 * All statements run on the caller's thread, so each commit blocks the event loop during its fsync.
 */
export function createSqliteOrderStore<W extends Writes = Record<never, never>>(
  database: SqliteDatabase,
  parts?: HandleParts<W>,
): SqliteOrderStore & { readonly write: Write<W> } {
  checkDatabase(database);
  if (parts !== undefined) checkFields('parts', parts, [], ['schemas', 'prepareWrites']);
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

/** The modules that read and write orders. The threads import them. */
const ORDER_MODULES = [new URL('./reads.js', import.meta.url).href, new URL('./writes.js', import.meta.url).href];

/**
 * Creates an order store over a file, which it opens with the first driver available (see
 * `openSqliteDatabase`). A missing file is created, readable only by its owner. The store reads and
 * commits on threads of its own, so that a slow disk does not block the event loop. It reads a
 * long list page by page. Failures of the file are {@link SqliteFileError}s. Throws in the same
 * cases as `createSqliteOrderStore`, and if there is no driver. Also throws for `:memory:`, because
 * two handles cannot share a database in memory.
 */
export function openSqliteOrderStore<R extends Reads = Record<never, never>, W extends Writes = Record<never, never>>(
  file: string,
  parts?: FileParts,
): SqliteFileOrderStore & { readonly read: Read<R>; readonly write: Write<W> } {
  if (parts !== undefined) checkFields('parts', parts, [], ['schemas', 'modules']);
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
 * Creates the methods that write, for a store over a handle or over a file. Each write becomes part
 * of the next commit.
 */
function writesThrough(
  write: Write<OrderWrites>,
  changed: () => void,
): Pick<SqliteOrderStore, 'cancel' | 'ship' | 'put'> {
  return {
    cancel: (id) => write('cancel', id),
    ship: (id) => write('ship', id),

    async put(orders, options) {
      const replace = isReplacing(options);
      try {
        return await write('put', toOrderRecords(orders), replace);
      } finally {
        changed();
      }
    },
  };
}
