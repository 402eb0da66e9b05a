/**
 * The part of a SQLite handle that this package uses. The handles of node:sqlite, better-sqlite3
 * and libsql have these methods.
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
  /** Makes node:sqlite read integers exactly, as bigint. */
  setReadBigInts?(on: boolean): unknown;
  /** Makes better-sqlite3 and libsql read integers exactly, as bigint. */
  safeIntegers?(on: boolean): unknown;
}

export type SqliteValue = bigint | number | string | null;
export type SqliteRow = Readonly<Record<string, SqliteValue>>;

/** A prepared statement that returns integers as bigint. */
export interface ExactStatement {
  run(...parameters: SqliteValue[]): void;
  get(...parameters: SqliteValue[]): SqliteRow | undefined;
  all(...parameters: SqliteValue[]): SqliteRow[];
}

/**
 * Prepares a statement that never rounds an int64. Use it for statements that write, too: without
 * bigint mode, node:sqlite may write a row with an id beyond 2^53 and *then* throw.
 */
export function prepare(database: SqliteDatabase, sql: string): ExactStatement {
  const statement = database.prepare(sql);
  const readExactly = statement.setReadBigInts ?? statement.safeIntegers;
  if (readExactly === undefined) {
    throw new TypeError(
      'database: this SQLite driver cannot read int64 exactly; use node:sqlite, better-sqlite3 or libsql',
    );
  }
  readExactly.call(statement, true);
  return statement as ExactStatement;
}

/** Runs `work` in one write transaction. If `work` throws, nothing is written. */
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

/**
 * Rolls the transaction back. Ignores an error, because after some failures (disk full, I/O) SQLite
 * has already rolled back.
 */
export function rollback(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK');
  } catch {}
}
