import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { createPrivately, openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { prepareFile } from '../../databases/sqlite/durability.js';
import { failureOf, isLate, SqliteFileError } from '../../databases/sqlite/failure.js';
import { openSqliteFile } from '../../databases/sqlite/file.js';
import { createWriteQueue } from '../../databases/sqlite/group-commit.js';
import { createFileOrders } from '../../orders/sqlite/hosted.js';
import { importRecords } from '../../orders/sqlite/import.js';
import { readRecords } from '../../orders/sqlite/list.js';
import { createOrders } from '../../orders/sqlite/store.js';
import { createKeyRing } from '../keys/key-ring.js';
import { createKeyTable } from '../keys/sqlite.js';
import { createQuotaTable, type QuotaTable } from '../quotas/table.js';
import { checkFile, checkIntegrity, noSuchDatabase, withUnmigratedFile } from './existing-file.js';
import { type ProgramParts, SCHEMAS } from './program-parts.js';
import { hasServer, LOCK_SUFFIX, lockForServer } from './server-lock.js';
import type { OpenOutcome, ServerStorage, Storage } from './storage.js';

/** {@link Storage} in one SQLite file. */
export interface SqliteStorage extends Storage {
  readonly quotas: QuotaTable;
}

export const IN_MEMORY = ':memory:';

/** A server checks files up to this size when it starts. A million orders (42 MB) take 0.2 s. */
const LARGEST_CHECKED_BYTES = 256 * 2 ** 20;

/**
 * Opens a database of this program on this thread. Creates a missing file only with `create`, so
 * that a mistyped name does not look like an empty database.
 */
export function openSqliteStorage(file: string, { create = false } = {}): OpenOutcome<SqliteStorage> {
  return createAndOpen(file, create, openHere);
}

/**
 * Opens the database file of a server, in workers. Creates it if it is missing. Fails if another
 * server runs on the file, or if the file belongs to another program or is damaged. A database in
 * memory is opened on this thread, because no other thread can open it.
 */
export function openServerSqliteStorage(file: string): OpenOutcome<ServerStorage> {
  return file === IN_MEMORY ? openSqliteStorage(file) : createAndOpen(file, true, openInWorkers);
}

/** Creates the file if needed, and opens it. Removes a file that it has created and cannot open. */
function createAndOpen<Opened extends ServerStorage>(
  file: string,
  create: boolean,
  open: (file: string, isNew: boolean) => Opened,
): OpenOutcome<Opened> {
  // SQLite's temporary files are beside the database, because /tmp may be read-only or too small
  // for an import. SQLite reads this variable when it opens its first file.
  process.env['SQLITE_TMPDIR'] ??= dirname(file);
  let isNew = file === IN_MEMORY;
  try {
    if (create && !isNew && !existsSync(file)) {
      // If a new file were created, putting the old one back would lose what is in the new one.
      if (hasServer(file)) throw new Error('it was moved away from a running server; put it back, or stop the server');
      isNew = createPrivately(file);
    }
    if (!isNew && !existsSync(file)) {
      const why = `cannot create the database ${file}; check that its directory exists and is writable`;
      throw new SqliteFileError(create ? why : noSuchDatabase(file), 'other');
    }
    checkFile(file);
    return { ok: true, storage: open(file, isNew) };
  } catch (error) {
    const { kind, message } = failureOf(error, file, 'open');
    // Of two processes that start at the same time, the one that has the lock keeps the file.
    if (isNew && kind !== 'busy') removeFiles(file);
    return { ok: false, message };
  }
}

function openHere(file: string, isNew: boolean): SqliteStorage {
  const database = openSqliteDatabase(file);
  try {
    prepareFile(database, SCHEMAS);
    const queue = createWriteQueue(database);
    const keys = createKeyTable(database, queue);
    return {
      name: file,
      isNew,
      close: () => queue.idle().then(() => void database.close()),
      orders: createOrders(database, queue),
      keys: createKeyRing(keys, keys),
      quotas: createQuotaTable(database, queue),
      records: () => readRecords(database),
      importRecords: (batches, replace) => importRecords(database, queue, batches, replace),
      state: () => 'ok',
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function openInWorkers(name: string, isNew: boolean): ServerStorage {
  let unlock: (() => void) | undefined;

  function check(): void {
    withUnmigratedFile(name, ({ database }) => {
      // SQLite may read a damaged page without an error, and the list would be wrong.
      if (statSync(name).size <= LARGEST_CHECKED_BYTES) checkIntegrity(database, name);
    });
    // Resolves symbolic links, so that all names of a file share one lock. The lock comes after the
    // other checks, because it creates a file, which must not be left beside a file of others.
    unlock = lockForServer(realpathSync(name));
    const why = `cannot open ${name}: another server runs on it; stop it first, or name another file with --db`;
    if (unlock === undefined) throw new SqliteFileError(why, 'busy');
  }

  const file = openSqliteFile<ProgramParts>(new URL('./worker.js', import.meta.url), name, SCHEMAS, check);
  // The worker opens the file while the server is being loaded.
  file.probe().catch(() => {});
  return {
    name,
    isNew,
    // If the disk does not respond, the lock is released when the process ends.
    close: () => file.close().then(unlock),
    orders: createFileOrders(file),
    // While the disk hangs, no command can revoke a key, so cached keys stay valid.
    keys: createKeyRing(file.reader.keys, file.writer.keys, { isUnchangeable: isLate }),
    quotas: { load: file.reader.quotas.load, pending: file.reader.quotas.pending, save: file.writer.quotas.save },
    state: () => file.probe().then(() => 'ok'),
  };
}

/** Closes a storage, and removes the files that opening it has created. */
export async function discard({ name, isNew, close }: ServerStorage): Promise<void> {
  await close();
  if (isNew) removeFiles(name);
}

/** Does the same as {@link discard}, but keeps the files if another process may have used them. */
export async function discardUnused(storage: Storage): Promise<void> {
  // If the check fails, the files are kept.
  const isUsed = storage.isNew && (await hasUser(storage).catch(() => true));
  await (isUsed ? storage.close() : discard(storage));
}

async function hasUser({ name, keys, records }: Storage): Promise<boolean> {
  if (hasServer(name)) return true;
  for await (const _ of records()) return true;
  return !(await keys.isEmpty());
}

function removeFiles(file: string): void {
  // A database in memory has no files. A file of this name belongs to somebody else.
  if (file === IN_MEMORY) return;
  for (const name of ['', '-wal', '-shm', LOCK_SUFFIX].map((suffix) => file + suffix)) {
    if (statSync(name, { throwIfNoEntry: false })?.isFile()) rmSync(name);
  }
}
