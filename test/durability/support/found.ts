import assert from 'node:assert/strict';
import { createSqliteOrderStore, openSqliteDatabase, type SqliteDatabase } from 'store-orders/sqlite';

/** The orders in a database file. */
export interface Found {
  readonly stored: ReadonlySet<bigint>;
  readonly cancelled: ReadonlySet<bigint>;
}

/** Opens the store on a file that no process uses, and returns its orders. Asserts that the file is sound. */
export function reopen(file: string): Found {
  const database = openSqliteDatabase(file);
  try {
    createSqliteOrderStore(database);
    return found(database);
  } finally {
    database.close();
  }
}

/**
 * Returns the orders of a file that a process uses. If no process used it, closing it would change
 * it: SQLite copies the write-ahead log into it. Asserts that the file is sound.
 */
export function look(file: string): Found {
  const database = openSqliteDatabase(file);
  try {
    return found(database);
  } finally {
    database.close();
  }
}

function found(database: SqliteDatabase): Found {
  const ask = (sql: string) => String(Object(database.prepare(`SELECT (${sql}) AS value`).get()).value);
  assert.equal(ask('SELECT integrity_check FROM pragma_integrity_check'), 'ok');
  // One text has all ids, because thousands of rows would take longer than everything else.
  const idsOf = (sql: string) => new Set(Array.from(ask(sql).matchAll(/-?\d+/g), ([id]) => BigInt(id)));
  return {
    stored: idsOf('SELECT group_concat(id) FROM orders'),
    cancelled: idsOf("SELECT group_concat(id) FROM orders WHERE status = 'cancelled'"),
  };
}
