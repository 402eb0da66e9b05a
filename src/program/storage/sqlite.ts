import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { loadDriver, openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { prepareFile } from '../../databases/sqlite/durability.js';
import { failureOf, isLate } from '../../databases/sqlite/failure.js';
import { openSqliteFile } from '../../databases/sqlite/file.js';
import { createWriteQueue } from '../../databases/sqlite/group-commit.js';
import { checkNames } from '../../databases/sqlite/identity.js';
import type { StartThread } from '../../databases/sqlite/remote.js';
import { createFileOrders, createOrders, importRecords, readRecords } from '../../orders/sqlite/engine.js';
import { createKeyRing } from '../keys/key-ring.js';
import { createFile } from './created-file.js';
import { checkFile, checkForServer } from './existing-file.js';
import { type ProgramParts, SCHEMAS } from './program-parts.js';
import { createQuotaTable, type QuotaTable } from './quota-table.js';
import { hasServer, lockForServer } from './server-lock.js';
import { createKeyTable } from './sqlite-keys.js';
import type { CreatedStorage, OpenAttempt, ServerStorage, Storage } from './storage.js';

/** {@link Storage} in one SQLite file. */
export interface SqliteStorage extends Storage {
  readonly quotas: QuotaTable;
}

export const IN_MEMORY = ':memory:';

/** How long a command waits for the lock. Storing a million orders may take that long. */
const LOCK_DEADLINE_MS = 60_000;

/**
 * Opens a database of this program on this thread. Creates a missing file only with `create`, so
 * that a mistyped name does not look like an empty database. Refuses a file with older tables,
 * because a server may be using it.
 */
export function openSqliteStorage(file: string, { create = false } = {}): OpenAttempt<SqliteStorage> {
  return openOrCreate(file, openHere, () => {
    const creates = file === IN_MEMORY || (create && !existsSync(file));
    if (!creates) checkFile(file);
    // If a new file were created, putting the old one back would lose what is in the new one.
    else if (hasServer(file)) throw new Error(MOVED);
    // Commands and a server may use the file at the same time.
    return () => {};
  });
}

/**
 * Opens the database file of a server, in threads of its own. Creates it if it is missing. Fails if
 * another server runs on the file, or if the file belongs to another program or is damaged. A
 * database in memory is opened on this thread, because no other thread can open it.
 */
export function openServerSqliteStorage(file: string): OpenAttempt<ServerStorage> {
  if (file === IN_MEMORY) return openSqliteStorage(file);
  return openOrCreate(file, openInThreads, () => {
    // Comes before the lock, which creates a file, because no file must be left beside one of others.
    if (existsSync(file)) checkForServer(file);
    // Only the server that has the lock creates the file, so it is the one that fills it.
    const unlock = lockForServer(file);
    if (unlock === undefined) throw new Error(existsSync(file) ? LOCKED : MOVED);
    return unlock;
  });
}

const MOVED = 'it was moved away from a running server; put it back, or stop the server';
const LOCKED = 'another server runs on it; stop it first, or name another file with --db';

/**
 * Opens a file, and creates it if it is missing. Before that, `lock` throws if the file must not be
 * opened or created. If opening fails, removes the file that it has created.
 */
function openOrCreate<Opened extends ServerStorage>(
  file: string,
  open: (file: string, unlock: () => void) => Opened,
  lock: () => () => void,
): OpenAttempt<Opened> {
  // SQLite's temporary files are beside the database, because /tmp may be read-only or too small
  // for an import. SQLite reads this variable when it opens its first file.
  process.env['SQLITE_TMPDIR'] ??= dirname(file);
  let unlock = () => {};
  let created: CreatedStorage | undefined;
  try {
    // Before a file is created.
    loadDriver();
    checkNames(file);
    unlock = lock();
    created = file === IN_MEMORY ? { remove() {} } : createFile(file);
    return { ok: true, storage: open(file, unlock), created };
  } catch (error) {
    unlock();
    created?.remove();
    return { ok: false, message: failureOf(error, file, 'open').message };
  }
}

function openHere(file: string): SqliteStorage {
  const database = openSqliteDatabase(file);
  try {
    prepareFile(database, SCHEMAS, true);
    const queue = createWriteQueue(database, { lockDeadlineMs: LOCK_DEADLINE_MS });
    const keys = createKeyTable(database, queue);
    return {
      name: file,
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

function openInThreads(name: string, unlock: () => void): ServerStorage {
  const startThread: StartThread = (options) => new Worker(new URL('./thread.js', import.meta.url), options);
  const file = openSqliteFile<ProgramParts>(startThread, name, SCHEMAS);
  // The thread that reads opens the file while the server is being loaded.
  file.probe().catch(() => {});
  return {
    name,
    // If the disk does not respond, the lock is released when the process ends.
    close: () => file.close().then(unlock),
    orders: createFileOrders(file),
    // While the disk hangs, no command can revoke a key, so cached keys stay valid.
    keys: createKeyRing(file.reader.keys, file.writer.keys, { isUnchangeable: isLate }),
    quotas: {
      load: file.reader.quotas.load,
      pending: file.reader.quotas.pending,
      save: (states, upToSeq) => file.writerFor(states.length).quotas.save(states, upToSeq),
    },
    state: () => file.probe().then(() => 'ok'),
  };
}
