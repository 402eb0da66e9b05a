import { existsSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { checkFields } from '../../check.js';
import { prepare, resultOf, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { checkFileName, createPrivately, openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { opening } from '../../databases/sqlite/durability.js';
import { failureOf, type Operation, SqliteFileError, textOf } from '../../databases/sqlite/failure.js';
import { type Schemas, schemaVersions } from '../../databases/sqlite/migration.js';
import {
  IMPORT_WRITES,
  type ImportWrites,
  importRecords,
  prepareWrites as prepareImportWrites,
} from '../../orders/sqlite/import.js';
import { createSqliteOrderStore, openSqliteOrderStore } from '../../orders/sqlite/index.js';
import { readRecords } from '../../orders/sqlite/records.js';
import { ORDERS_SCHEMA } from '../../orders/sqlite/table.js';
import { createKeyRing } from '../keys/sqlite.js';
import { KEY_READS, type KeyReads } from '../keys/sqlite-reads.js';
import { QUOTA_READS, type QuotaReads } from '../quotas/reads.js';
import { createQuotaTable, type QuotaTable } from '../quotas/table.js';
import { prepareWrites as prepareQuotaWrites, QUOTA_WRITES, type QuotaWrites } from '../quotas/writes.js';
import { refusalOf } from './file-check.js';
import { damage, problemsOf } from './integrity.js';
import { PLACE_SUFFIX } from './server-lock.js';
import type { OpenOutcome, Storage } from './storage.js';

/** {@link Storage} in one SQLite file. */
export interface SqliteStorage extends Storage {
  readonly quotas: QuotaTable;
}

export const IN_MEMORY = ':memory:';

const PROGRAM_SCHEMA: Schemas = {
  program: [
    `CREATE TABLE keys (
      id TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT, plan TEXT NOT NULL, per_minute INTEGER,
      per_day INTEGER, created_at TEXT NOT NULL, revoked_at TEXT) STRICT;
    CREATE TABLE quotas (key_id TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;
    CREATE TABLE quota_requests (seq INTEGER PRIMARY KEY AUTOINCREMENT, key_id TEXT NOT NULL, request TEXT NOT NULL) STRICT;`,
  ],
};

export const SCHEMAS: Schemas = { ...ORDERS_SCHEMA, ...PROGRAM_SCHEMA };

/**
 * How long a command waits for the lock of another process. A server does not wait: see
 * `neverBlock`.
 */
const LOCK_WAIT_MS = 5_000;

export interface OpenOptions {
  /**
   * Creates a missing file. Without this option, a missing file is an error, so that a mistyped
   * name does not look like an empty database.
   */
  readonly create?: boolean;
  /**
   * Whether to read and commit on other threads. A server does, because it must keep responding.
   */
  readonly threaded?: boolean;
}

/**
 * A server checks every page of a database up to this size before it starts. The check takes 0.2 s
 * for a million orders (42 MB).
 */
const LARGEST_CHECKED_BYTES = 256 * 2 ** 20;

/** Opens a database of this program. The caller closes it. */
export function openSqliteStorage(file: string, options: OpenOptions = {}): OpenOutcome<SqliteStorage> {
  checkFileName(file);
  checkFields('options', options, ['create', 'threaded']);
  const { create = false, threaded = false } = options;
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
    const open = threaded && file !== IN_MEMORY ? openThreaded : openHere;
    return { ok: true, data: open(file, isNew) };
  } catch (error) {
    if (isNew) removeFiles(file);
    return { ok: false, message: cannotOpen(file, error) };
  }
}

/**
 * Opens the database file that the user has named, if it belongs to this program. For a server
 * (`threaded`), also checks that the file is intact. Do not call this function in a process that
 * already has the file open: {@link refusalOf} gives the reason.
 */
export function openNamedSqliteStorage(file: string, options?: OpenOptions): OpenOutcome<SqliteStorage> {
  // Puts SQLite's temporary files into the directory of the database, because /tmp may be read-only
  // or too small for an import. SQLite reads this variable when it opens its first file.
  process.env['SQLITE_TMPDIR'] ??= dirname(file);
  try {
    const refusal = file === IN_MEMORY ? undefined : refusalOf(file);
    if (refusal !== undefined) throw new Error(refusal);
    if (options?.threaded === true) checkSoundness(file);
  } catch (error) {
    return { ok: false, message: cannotOpen(file, error) };
  }
  return openSqliteStorage(file, options);
}

/**
 * Opens an existing file for reading, without migrating its tables. Reports a failure by throwing,
 * unlike {@link openSqliteStorage}. The caller closes the database.
 */
export function openAsItIs(file: string): { database: SqliteDatabase; versions: ReadonlyMap<string, number> } {
  const database = openSqliteDatabase(file);
  try {
    let versions: ReadonlyMap<string, number> = new Map();
    opening(database, () => {
      versions = schemaVersions(database, SCHEMAS);
    });
    waitForLocks(database, LOCK_WAIT_MS);
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

/**
 * Opens everything on this thread: for a command, and for a database in memory, which no other
 * thread can open.
 */
function openHere(file: string, isNew: boolean): SqliteStorage {
  const database = openSqliteDatabase(file);
  try {
    const orders = createSqliteOrderStore<QuotaWrites & ImportWrites>(database, {
      schemas: PROGRAM_SCHEMA,
      prepareWrites: (handle) => ({ ...prepareQuotaWrites(handle), ...prepareImportWrites(handle) }),
    });
    waitForLocks(database, LOCK_WAIT_MS);
    const something = prepare(database, 'SELECT count(*) FROM sqlite_schema');
    return {
      ...partsOf(file, isNew, database, () => orders.close().then(() => void database.close())),
      orders,
      importRecords: (batches, replace) => importRecords(orders.write, batches, replace),
      keys: createKeyRing(database),
      quotas: createQuotaTable(database, orders.write),
      state() {
        something.get();
        return 'ok';
      },
      neverBlock: () => waitForLocks(database, 0),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Opens the file on other threads, which serve the requests. Also opens it on this thread, which
 * loads the quotas and creates the first keys. `neverBlock` closes the file on this thread.
 */
function openThreaded(file: string, isNew: boolean): SqliteStorage {
  const orders = openSqliteOrderStore<KeyReads & QuotaReads, QuotaWrites & ImportWrites>(file, {
    schemas: PROGRAM_SCHEMA,
    modules: [KEY_READS, QUOTA_READS, QUOTA_WRITES, IMPORT_WRITES],
  });
  // Starts the reading thread now, so that the first request does not wait for it.
  orders.probe().catch(() => {});
  const database = openSqliteDatabase(file);
  waitForLocks(database, LOCK_WAIT_MS);
  let isOpen = true;

  function closeHere(): void {
    if (isOpen) database.close();
    isOpen = false;
  }

  return {
    ...partsOf(file, isNew, database, () => orders.close().finally(closeHere)),
    orders,
    importRecords: (batches, replace) => importRecords(orders.write, batches, replace),
    keys: createKeyRing(database, orders.read),
    quotas: createQuotaTable(database, orders.write, orders.read),
    state: () => orders.probe().then(() => 'ok'),
    neverBlock: closeHere,
  };
}

function partsOf(file: string, isNew: boolean, database: SqliteDatabase, close: () => Promise<void>) {
  return {
    name: file,
    isNew,
    records: () => readRecords(database),
    close,
    async discard() {
      await close();
      if (isNew) removeFiles(file);
    },
  };
}

/** Sets how long a statement waits for a lock. With 0 it fails immediately with SQLITE_BUSY. */
function waitForLocks(database: SqliteDatabase, ms: number): void {
  // The pragma returns a row, which some drivers do not accept from `exec`.
  database.prepare(`PRAGMA busy_timeout = ${ms}`).get();
}

function removeFiles(file: string): void {
  if (file === IN_MEMORY) return;
  for (const suffix of ['', '-wal', '-shm', PLACE_SUFFIX]) rmSync(file + suffix, { force: true });
}

export function noSuchDatabase(file: string): string {
  return `there is no database ${file}; check --db, or start the server to create it`;
}

function cannotOpen(file: string, error: unknown): string {
  return troubleOf(error, file, 'open') ?? `cannot open the database ${file}: ${reasonOf(error)}`;
}

/** Returns the message for an error of the database file, or `undefined` for any other error. */
export function troubleOf(error: unknown, file: string, operation: Operation): string | undefined {
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
