import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { checkFields } from '../../check.js';
import { prepare, resultOf, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { checkFileName, createPrivately, openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { retryWhileBusy } from '../../databases/sqlite/durability.js';
import { type FileOperation, failureOf, isLate, SqliteFileError, textOf } from '../../databases/sqlite/failure.js';
import { openSqliteFile, prepareFile } from '../../databases/sqlite/file.js';
import { createWriteQueue } from '../../databases/sqlite/group-commit.js';
import { schemaVersions } from '../../databases/sqlite/migration.js';
import { createFileOrders } from '../../orders/sqlite/hosted.js';
import { importRecords } from '../../orders/sqlite/import.js';
import { readRecords } from '../../orders/sqlite/list.js';
import { createOrders } from '../../orders/sqlite/store.js';
import { createKeyRing } from '../keys/key-ring.js';
import { createKeyTable } from '../keys/sqlite.js';
import { createQuotaTable, type QuotaTable } from '../quotas/table.js';
import { refusalOf } from './file-check.js';
import { damage, problemsOf } from './integrity.js';
import { type ProgramParts, SCHEMAS } from './program-parts.js';
import { LOCK_SUFFIX } from './server-lock.js';
import type { OpenOutcome, ServerStorage, Storage } from './storage.js';

/** {@link Storage} in one SQLite file. */
export interface SqliteStorage extends Storage {
  readonly quotas: QuotaTable;
}

export const IN_MEMORY = ':memory:';

/** How long a command waits for the lock of another process. */
const LOCK_WAIT_MS = 5_000;

export interface OpenOptions {
  /**
   * Creates a missing file. Without this option, a missing file is an error, so that a mistyped
   * name does not look like an empty database.
   */
  readonly create?: boolean;
}

/**
 * A server checks every page of a database up to this size before it starts. The check takes 0.2 s
 * for a million orders (42 MB).
 */
const LARGEST_CHECKED_BYTES = 256 * 2 ** 20;

/** Opens a database of this program on this thread. The caller closes it. */
export function openSqliteStorage(file: string, options: OpenOptions = {}): OpenOutcome<SqliteStorage> {
  checkFileName(file);
  checkFields('options', options, ['create']);
  return createAndOpen(file, options.create ?? false, openHere);
}

/** Opens the database file that a command names, if it belongs to this program. */
export function openNamedSqliteStorage(file: string, options: OpenOptions): OpenOutcome<SqliteStorage> {
  keepTemporaryFilesBeside(file);
  const refusal = refusalOfNamed(file, () => {});
  return refusal === undefined ? openSqliteStorage(file, options) : { ok: false, message: refusal };
}

/**
 * Opens the database file that a server names, in workers. Creates it if it is missing. Fails if
 * the file belongs to another program or is damaged. A database in memory is opened on this thread,
 * because no other thread can open it.
 */
export function openServerSqliteStorage(file: string): OpenOutcome<ServerStorage> {
  if (file === IN_MEMORY) return openSqliteStorage(file);
  keepTemporaryFilesBeside(file);
  const refusal = refusalOfNamed(file, checkSoundness);
  return refusal === undefined ? createAndOpen(file, true, openInWorkers) : { ok: false, message: refusal };
}

/**
 * Puts SQLite's temporary files into the directory of the database, because /tmp may be read-only
 * or too small for an import. SQLite reads this variable when it opens its first file.
 */
function keepTemporaryFilesBeside(file: string): void {
  process.env['SQLITE_TMPDIR'] ??= dirname(file);
}

/**
 * Returns why the file must not be opened, or `undefined` if it may be opened. Do not call this
 * function in a process that already has the file open: {@link refusalOf} gives the reason.
 */
function refusalOfNamed(file: string, check: (file: string) => void): string | undefined {
  try {
    const refusal = file === IN_MEMORY ? undefined : refusalOf(file);
    if (refusal !== undefined) throw new Error(refusal);
    check(file);
    return undefined;
  } catch (error) {
    return cannotOpen(file, error);
  }
}

/** Creates the file if needed, and opens it. Removes a file that it has created and cannot open. */
function createAndOpen<Opened extends ServerStorage>(
  file: string,
  create: boolean,
  open: (file: string, isNew: boolean) => Opened,
): OpenOutcome<Opened> {
  const isNew = file === IN_MEMORY || (create && createPrivately(file));
  if (!isNew && !existsSync(file)) {
    return {
      ok: false,
      message: create
        ? `cannot create the database ${file}; check that its directory exists and is writable`
        : noSuchDatabase(file),
    };
  }
  try {
    return { ok: true, data: open(file, isNew) };
  } catch (error) {
    if (isNew) removeFiles(file);
    return { ok: false, message: cannotOpen(file, error) };
  }
}

/**
 * Opens an existing file for reading, without migrating its tables. Reports a failure by throwing,
 * unlike {@link openSqliteStorage}. The caller closes the database.
 */
export function openAsItIs(file: string): { database: SqliteDatabase; versions: ReadonlyMap<string, number> } {
  const database = openSqliteDatabase(file);
  try {
    let versions: ReadonlyMap<string, number> = new Map();
    retryWhileBusy(database, () => {
      versions = schemaVersions(database, SCHEMAS);
    });
    setLockWait(database, LOCK_WAIT_MS);
    return { database, versions };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Throws if the file is damaged, because a list from a damaged page may be wrong. Does not check a
 * file larger than {@link LARGEST_CHECKED_BYTES}, because that would take too long.
 */
function checkSoundness(file: string): void {
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0 || bytes > LARGEST_CHECKED_BYTES) return;
  const { database } = openAsItIs(file);
  try {
    const problems = problemsOf(database);
    if (problems.length > 0) throw new SqliteFileError(damage(file, problems), 'damaged');
  } finally {
    database.close();
  }
}

function openHere(file: string, isNew: boolean): SqliteStorage {
  const database = openSqliteDatabase(file);
  try {
    prepareFile(database, SCHEMAS);
    const queue = createWriteQueue(database, LOCK_WAIT_MS);
    const keys = createKeyTable(database, queue);
    const selectObjectCount = prepare(database, 'SELECT count(*) FROM sqlite_schema');
    return {
      ...nameAndEnd(file, isNew, () => queue.idle().then(() => void database.close())),
      orders: createOrders(database, queue),
      keys: createKeyRing(keys, keys),
      quotas: createQuotaTable(database, queue),
      records: () => readRecords(database),
      importRecords: (batches, replace) => importRecords(database, queue, batches, replace),
      state() {
        selectObjectCount.get();
        return 'ok';
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

function openInWorkers(name: string, isNew: boolean): ServerStorage {
  const file = openSqliteFile<ProgramParts>(new URL('./worker.js', import.meta.url), name, SCHEMAS);
  // A thread starts with its first call. This one starts it while the server is being loaded.
  file.probe().catch(() => {});
  return {
    ...nameAndEnd(name, isNew, file.close),
    orders: createFileOrders(file),
    // While the disk hangs, no command can revoke a key, so cached keys stay valid.
    keys: createKeyRing(file.reader.keys, file.writer.keys, { isUnchangeable: isLate }),
    quotas: { load: file.reader.quotas.load, pending: file.reader.quotas.pending, save: file.writer.quotas.save },
    state: () => file.probe().then(() => 'ok'),
  };
}

function nameAndEnd(file: string, isNew: boolean, close: () => Promise<void>) {
  return {
    name: file,
    isNew,
    close,
    async discard() {
      await close();
      if (isNew) removeFiles(file);
    },
  };
}

/** Sets how long a statement waits for a lock. With 0 it fails immediately with SQLITE_BUSY. */
function setLockWait(database: SqliteDatabase, ms: number): void {
  // The pragma returns a row, which some drivers do not accept from `exec`.
  database.prepare(`PRAGMA busy_timeout = ${ms}`).get();
}

function removeFiles(file: string): void {
  if (file === IN_MEMORY) return;
  for (const suffix of ['', '-wal', '-shm', LOCK_SUFFIX]) rmSync(file + suffix, { force: true });
}

export function noSuchDatabase(file: string): string {
  return `there is no database ${file}; check --db, or start the server to create it`;
}

function cannotOpen(file: string, error: unknown): string {
  return troubleOf(error, file, 'open') ?? `cannot open the database ${file}: ${reasonOf(error)}`;
}

/** Returns the message for an error of the database file, or `undefined` for any other error. */
export function troubleOf(error: unknown, file: string, operation: FileOperation): string | undefined {
  const isOfFile = error instanceof SqliteFileError || resultOf(error) !== undefined;
  return isOfFile ? failureOf(error, file, operation).message : undefined;
}

/**
 * Returns the message of an error without the prefix `database: `, because the caller names the
 * file.
 */
export function reasonOf(error: unknown): string {
  return textOf(error).replace(/^database: /, '');
}
