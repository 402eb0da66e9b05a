import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { opening, type Schemas, schemaVersions } from '../../databases/sqlite/database.js';
import { commitTogether } from '../../databases/sqlite/write-batch.js';
import { createWriteQueue } from '../../databases/sqlite/write-queue.js';
import { createWriteThread, type WriteThread } from '../../databases/sqlite/write-thread.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteOrderStore } from '../../orders/sqlite/index.js';
import { readRecords } from '../../orders/sqlite/list.js';
import { prepareFile, storeOver } from '../../orders/sqlite/store.js';
import { ORDERS_SCHEMA } from '../../orders/sqlite/table.js';
import { ORDER_WRITES, type OrderWrites, prepareWrites as prepareOrderWrites } from '../../orders/sqlite/writes.js';
import { createKeyRing, type SqliteKeyRing } from '../keys/sqlite.js';
import { createQuotaTable, type QuotaTable } from '../quotas/table.js';
import { prepareWrites as prepareQuotaWrites, QUOTA_WRITES, type QuotaWrites } from '../quotas/writes.js';
import { refusalOf } from './file-check.js';
import { PLACE_SUFFIX } from './server-lock.js';
import type { OpenOutcome, ProgramData } from './storage.js';

/** {@link ProgramData} in one SQLite file. */
export interface SqliteData extends ProgramData {
  readonly orders: SqliteOrderStore;
  readonly keys: SqliteKeyRing;
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

/** How long a command waits for the lock of another process. A server that answers does not wait: see `neverBlock`. */
const LOCK_WAIT_MS = 5_000;

export interface OpenOptions {
  /** Make a missing file; otherwise it is a mistake, so that a mistyped name does not look like an empty store. */
  readonly create?: boolean;
  /** Commit on a thread of its own: for a process that must answer meanwhile. */
  readonly threaded?: boolean;
}

/** Opens a database of this program. The caller closes it. */
export function openDatabase(
  file: string,
  { create = false, threaded = false }: OpenOptions = {},
): OpenOutcome<SqliteData> {
  const isNew = file === IN_MEMORY || (create && makeFile(file));
  if (!isNew && !existsSync(file)) {
    return {
      ok: false,
      message: create
        ? `cannot make the database ${file}; check that its directory exists and is writable`
        : noSuchDatabase(file),
    };
  }
  let database: SqliteDatabase | undefined;
  try {
    database = openSqliteDatabase(file);
    return { ok: true, data: setUp(file, database, isNew, threaded) };
  } catch (error) {
    database?.close();
    if (isNew) removeFiles(file);
    return { ok: false, message: cannotOpen(file, error) };
  }
}

/**
 * Opens the database of a command, after a look whether it is one at all. For a process that has not opened it yet:
 * see {@link refusalOf}.
 */
export function openNamedDatabase(file: string, options?: OpenOptions): OpenOutcome<SqliteData> {
  try {
    const refusal = refusalOf(file);
    if (refusal !== undefined) throw new Error(refusal);
  } catch (error) {
    return { ok: false, message: cannotOpen(file, error) };
  }
  return openDatabase(file, options);
}

/**
 * Opens a file that must be there without bringing its tables to another version, for who only reads it. Throws as
 * {@link openDatabase} fails. The caller closes it.
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

function setUp(file: string, database: SqliteDatabase, isNew: boolean, threaded: boolean): SqliteData {
  prepareFile(database, PROGRAM_SCHEMA);
  waitForLocks(database, LOCK_WAIT_MS);
  // What is in memory, no other thread can open.
  const isShared = file !== IN_MEMORY;
  const { commit, close: closeWriter } = isShared && threaded ? threadWriter(file) : ownWriter(database);
  const queue = createWriteQueue<OrderWrites & QuotaWrites>(commit);
  const orders = isShared ? storeOver(database, queue, () => openSqliteDatabase(file)) : storeOver(database, queue);

  async function close(): Promise<void> {
    await orders.close();
    await closeWriter();
    database.close();
  }

  return {
    name: file,
    orders,
    keys: createKeyRing(database),
    quotas: createQuotaTable(database, queue),
    isNew,
    records: () => readRecords(database),
    state() {
      database.prepare('SELECT count(*) FROM sqlite_schema').get();
      return 'ok';
    },
    neverBlock: () => waitForLocks(database, 0),
    close,
    async discard() {
      await close();
      if (isNew) removeFiles(file);
    },
  };
}

interface Writer {
  readonly commit: Parameters<typeof createWriteQueue>[0];
  close(): Promise<void>;
}

function threadWriter(file: string): WriteThread {
  return createWriteThread({ file, modules: [ORDER_WRITES, QUOTA_WRITES] });
}

function ownWriter(database: SqliteDatabase): Writer {
  const writes = { ...prepareOrderWrites(database), ...prepareQuotaWrites(database) };
  return { commit: (calls) => commitTogether(database, writes, calls), close: async () => {} };
}

/** Sets how long a statement blocks the process until another one's lock is gone. 0: it fails at once as busy. */
function waitForLocks(database: SqliteDatabase, ms: number): void {
  // The pragma answers with a row, which some drivers do not take from `exec`.
  database.prepare(`PRAGMA busy_timeout = ${ms}`).get();
}

/** Whether the file was not there and now is, empty: which of two processes made it is certain. */
function makeFile(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx'));
    return true;
  } catch {
    return false;
  }
}

function removeFiles(file: string): void {
  if (file === IN_MEMORY) return;
  for (const suffix of ['', '-wal', '-shm', PLACE_SUFFIX]) rmSync(file + suffix, { force: true });
}

export function noSuchDatabase(file: string): string {
  return `there is no database ${file}; name the right file with --db, or start the server, which makes one`;
}

function cannotOpen(file: string, error: unknown): string {
  return `cannot open the database ${file}: ${reasonOf(error)}`;
}

/** The orders room's messages begin with what they are about, which is said here already. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/^database: /, '');
}
