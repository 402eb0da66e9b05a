import type { SqliteDatabase } from '../../databases/sqlite/database.js';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { commitTogether } from '../../databases/sqlite/write-batch.js';
import { createWriteQueue } from '../../databases/sqlite/write-queue.js';
import { createWriteThread } from '../../databases/sqlite/write-thread.js';
import { prepareFile, type SqliteOrderStore, storeOver } from './store.js';
import { ORDER_WRITES, type OrderWrites, prepareWrites } from './writes.js';

export type { SqliteDatabase, SqliteStatement, SqliteValue } from '../../databases/sqlite/database.js';
export { openSqliteDatabase } from '../../databases/sqlite/driver.js';
export type { SqliteOrderStore } from './store.js';

/**
 * The store over an open handle of node:sqlite, better-sqlite3 or libsql, which stays the caller's to close. The file
 * must be new, or one of this store's. Sets WAL and `synchronous=FULL` and throws if SQLite refuses them, if the file
 * is foreign or if it is of a newer version. Also sets `busy_timeout=0`: the store waits for other processes' locks
 * itself, without blocking the event loop.
 *
 * Everything happens on the handle's own thread, so each commit holds up the event loop for an fsync.
 */
export function createSqliteOrderStore(database: SqliteDatabase): SqliteOrderStore {
  prepareFile(database);
  const writes = prepareWrites(database);
  return storeOver(
    database,
    createWriteQueue<OrderWrites>((calls) => commitTogether(database, writes, calls)),
  );
}

/**
 * The store over a file, created if absent, which it opens with the first driver there is (see `openSqliteDatabase`).
 * Commits on a thread of its own, and streams a long list, so that neither holds up the event loop. Throws as
 * `createSqliteOrderStore` does, if there is no driver, and for `:memory:`, which no two handles can share.
 */
export function openSqliteOrderStore(file: string): SqliteOrderStore {
  if (file === ':memory:' || file === '') {
    throw new TypeError('file: expected the name of a file; for one in memory use createMemoryOrderStore');
  }
  const open = () => openSqliteDatabase(file);
  const database = open();
  try {
    prepareFile(database);
  } catch (error) {
    database.close();
    throw error;
  }
  const thread = createWriteThread({ file, modules: [ORDER_WRITES] });
  const store = storeOver(database, createWriteQueue<OrderWrites>(thread.commit), open);
  return {
    ...store,
    async close() {
      await store.close();
      await thread.close();
      database.close();
    },
  };
}
