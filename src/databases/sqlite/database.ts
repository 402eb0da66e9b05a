/**
 * The part of a SQLite handle that is used: node:sqlite's `DatabaseSync`, better-sqlite3's and libsql's `Database`
 * and whatever else has these methods.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): unknown;
}

export interface SqliteStatement {
  run(...parameters: SqliteValue[]): unknown;
  get(...parameters: SqliteValue[]): unknown;
  all(...parameters: SqliteValue[]): unknown[];
  /** node:sqlite's way to read int64 exactly. */
  setReadBigInts?(on: boolean): unknown;
  /** The way of better-sqlite3 and libsql. */
  safeIntegers?(on: boolean): unknown;
}

export type SqliteValue = bigint | number | string | null;
export type SqliteRow = Readonly<Record<string, SqliteValue>>;

/** A prepared statement whose integers, in and out, are bigint. */
export interface ExactStatement {
  run(...parameters: SqliteValue[]): void;
  get(...parameters: SqliteValue[]): SqliteRow | undefined;
  all(...parameters: SqliteValue[]): SqliteRow[];
}

/**
 * Prepares a statement that never rounds an int64. Every statement is switched over, writes too: node:sqlite may
 * otherwise throw *after* it wrote a row whose id is beyond 2^53, and the others round silently.
 */
export function prepare(database: SqliteDatabase, sql: string): ExactStatement {
  const statement = database.prepare(sql);
  if (statement.setReadBigInts !== undefined) statement.setReadBigInts(true);
  else if (statement.safeIntegers !== undefined) statement.safeIntegers(true);
  else
    throw new TypeError(
      'database: this SQLite driver cannot read int64 exactly; use node:sqlite, better-sqlite3 or libsql',
    );
  return {
    run: (...parameters) => void statement.run(...parameters),
    get: (...parameters) => statement.get(...parameters) as SqliteRow | undefined,
    all: (...parameters) => statement.all(...parameters) as SqliteRow[],
  };
}

/** Runs `work` in one write transaction: all of it, or on a throw none. */
export function transaction<T>(database: SqliteDatabase, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    rollback(database);
    throw error;
  }
}

/** After some failures (disk full, I/O) SQLite has rolled back by itself, and ROLLBACK answers with an error. */
function rollback(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK');
  } catch {}
}

/** Whether another connection holds the lock: the same call may pass later. */
export function isBusy(error: unknown): boolean {
  return isResult(error, 5, 'SQLITE_BUSY');
}

/** Whether SQLite found pages that cannot be what it wrote. */
export function isDamaged(error: unknown): error is Error {
  return isResult(error, 11, 'SQLITE_CORRUPT');
}

/** node:sqlite gives SQLite's extended result code as `errcode`, better-sqlite3 and libsql its name as `code`. */
function isResult(error: unknown, primaryCode: number, name: string): error is Error {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as Error & { code?: unknown; errcode?: unknown };
  return (typeof errcode === 'number' && (errcode & 0xff) === primaryCode) || String(code).startsWith(name);
}

/** How long opening waits for other processes that open or write the same file, and how long at a time. */
const OPEN_DEADLINE_MS = 2_000;
const OPEN_WAIT_MS = 250;

/**
 * Runs `work` on a handle just opened, again while other processes hold the lock. SQLite's own waiting is not enough:
 * where two processes that switch a new file to WAL would wait for each other, it does not wait. Afterwards SQLite no
 * longer waits at all, because that blocks the event loop (better-sqlite3 has it wait for 5 s unless told). It waits
 * long enough that trying again is rare: libsql may leave a statement that failed open, and the next try fails for that.
 */
export function opening(database: SqliteDatabase, work: () => void): void {
  const deadlineMs = performance.now() + OPEN_DEADLINE_MS;
  database.exec(`PRAGMA busy_timeout = ${OPEN_WAIT_MS}`);
  for (;;) {
    try {
      work();
      break;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadlineMs) throw error;
    }
  }
  database.exec('PRAGMA busy_timeout = 0');
}

/**
 * Makes an answered commit survive a power cut: write-ahead log, and an fsync per commit (drivers default to
 * `synchronous=NORMAL`, which has none). Reads both settings back and throws if SQLite did not take them. A database
 * in memory has nothing to lose and is let pass.
 *
 * Also moves what a former process left in the log into the database and starts the log anew. If an fsync of that
 * process failed, the kernel may show frames that are not on disk and never will be, and after a power cut SQLite reads
 * the log up to the first frame that is missing: what is committed behind it would be lost. (A process that goes on
 * after a failed fsync is safe: SQLite writes those frames again.)
 */
export function makeDurable(database: SqliteDatabase): void {
  database.exec('PRAGMA journal_mode = WAL');
  const journal = prepare(database, 'PRAGMA journal_mode').get()?.['journal_mode'];
  const synchronous = syncEveryCommit(database);
  if (journal === 'memory') return;
  if (journal !== 'wal' || synchronous !== 2n) {
    throw new Error(
      `database: SQLite answered journal_mode=${journal}, synchronous=${synchronous} instead of wal, 2 (FULL); ` +
        'put the file on a local file system',
    );
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Has each commit of this handle wait for its fsync, and answers with the level that SQLite then says: 2n, FULL. */
export function syncEveryCommit(database: SqliteDatabase): SqliteValue | undefined {
  database.exec('PRAGMA synchronous = FULL');
  return prepare(database, 'PRAGMA synchronous').get()?.['synchronous'];
}

export const SCHEMA_TABLE = 'store_orders_schema';

/** How the tables of each part came to be: `steps[n]` leads from version n to n + 1. */
export type Schemas = Readonly<Record<string, readonly string[]>>;

/**
 * Brings the tables of all parts to their newest version, in one transaction. A part's version stands in the table
 * `store_orders_schema`. A file that has other tables but not this one, is no SQLite file, or has a newer version of
 * any part is refused by a throw and is not changed.
 */
export function migrate(database: SqliteDatabase, schemas: Schemas): void {
  const parts = Object.entries(schemas);
  const found = schemaVersions(database, schemas);
  if (parts.every(([part, steps]) => found.get(part) === steps.length)) return;
  transaction(database, () => {
    // Looked at again under the lock: another process may have migrated meanwhile.
    const versions = schemaVersions(database, schemas);
    database.exec(
      `CREATE TABLE IF NOT EXISTS ${SCHEMA_TABLE} (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT`,
    );
    const setVersion = prepare(database, `INSERT OR REPLACE INTO ${SCHEMA_TABLE} VALUES (?, ?)`);
    for (const [part, steps] of parts) {
      for (const step of steps.slice(versions.get(part))) database.exec(step);
      setVersion.run(part, BigInt(steps.length));
    }
  });
}

/** The version of each part's tables, 0 when they are not there. Throws as {@link migrate} does for what it refuses. */
export function schemaVersions(database: SqliteDatabase, schemas: Schemas): ReadonlyMap<string, number> {
  const versions = new Map(Object.keys(schemas).map((part) => [part, 0]));
  const tables = tableNames(database);
  if (tables.length === 0) return versions;
  if (!tables.includes(SCHEMA_TABLE)) throw new Error(FOREIGN);
  for (const row of prepare(database, `SELECT part, version FROM ${SCHEMA_TABLE}`).all()) {
    const [part, version, known] = [String(row['part']), Number(row['version']), schemas[String(row['part'])]?.length];
    if (known === undefined) continue;
    if (version > known) {
      throw new Error(
        `database: its ${part} schema has version ${version}, this program knows ${known}; use a newer store-orders`,
      );
    }
    versions.set(part, version);
  }
  return versions;
}

function tableNames(database: SqliteDatabase): readonly unknown[] {
  try {
    return prepare(database, "SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map(({ name }) => name);
  } catch (error) {
    if (!isResult(error, 26, 'SQLITE_NOTADB')) throw error;
    throw new Error(NO_DATABASE, { cause: error });
  }
}

export const NO_DATABASE = 'database: the file is no SQLite database';
export const FOREIGN = 'database: the file is no order database, it holds other tables; name a file of its own';
