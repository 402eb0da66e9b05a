import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import {
  createSqliteOrderStore,
  openSqliteDatabase,
  type SqliteDatabase,
  type SqliteOrderStore,
} from '../orders/sqlite.js';
import { migrate } from '../orders/sqlite-database.js';

/** Everything that the program keeps, in one file. */
export interface ProgramDatabase {
  readonly file: string;
  readonly database: SqliteDatabase;
  readonly orders: SqliteOrderStore;
  /** Whether this call made the file. Always so for `:memory:`. */
  readonly isNew: boolean;
  close(): void;
  /** Closes it, and removes the files that this process made. */
  discard(): void;
}

export type OpenOutcome =
  | { readonly ok: true; readonly opened: ProgramDatabase }
  | { readonly ok: false; readonly message: string };

export const IN_MEMORY = ':memory:';

/** `steps[n]` leads from version n to n + 1; see `migrate`. */
const SCHEMA = [
  `CREATE TABLE keys (
    id TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, name TEXT, plan TEXT NOT NULL, per_minute INTEGER,
    per_day INTEGER, created_at TEXT NOT NULL, revoked_at TEXT) STRICT;
  CREATE TABLE quotas (key_id TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;
  CREATE TABLE quota_requests (seq INTEGER PRIMARY KEY AUTOINCREMENT, key_id TEXT NOT NULL, request TEXT NOT NULL) STRICT;`,
];

/** How long a command waits for the lock of another process. A server does not wait: see {@link waitForLocks}. */
const LOCK_WAIT_MS = 5_000;

/**
 * Opens a database of this program. A missing file is made when `create` is set and is otherwise a mistake, so that a
 * mistyped name does not look like an empty store. The caller closes it.
 */
export function openDatabase(file: string, create: boolean): OpenOutcome {
  const isNew = file === IN_MEMORY || (create && makeFile(file));
  if (!isNew && !existsSync(file)) {
    return {
      ok: false,
      message: create
        ? `cannot make the database ${file}; check that its directory exists and is writable`
        : `there is no database ${file}; name the right file with --db, or start the server, which makes one`,
    };
  }
  let database: SqliteDatabase | undefined;
  try {
    database = openSqliteDatabase(file);
    return { ok: true, opened: setUp(file, database, isNew) };
  } catch (error) {
    database?.close();
    if (isNew) removeFiles(file);
    return { ok: false, message: `cannot open the database ${file}: ${reason(error)}` };
  }
}

function setUp(file: string, database: SqliteDatabase, isNew: boolean): ProgramDatabase {
  const orders = createSqliteOrderStore(database);
  waitForLocks(database, LOCK_WAIT_MS);
  migrate(database, 'program', SCHEMA);
  const close = () => void database.close();
  return {
    file,
    database,
    orders,
    isNew,
    close,
    discard() {
      close();
      if (isNew) removeFiles(file);
    },
  };
}

/** Sets how long a statement blocks the process until another one's lock is gone. 0: it fails at once as busy. */
export function waitForLocks(database: SqliteDatabase, ms: number): void {
  database.exec(`PRAGMA busy_timeout = ${ms}`);
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
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
}

/** The orders room's messages begin with what they are about, which is said here already. */
function reason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/^database: /, '');
}
