import assert from 'node:assert/strict';
import { createSqliteOrderStore, openSqliteDatabase } from 'store-orders/sqlite';

/** Opens the store on a file that no process uses, as a restarted server does, and looks at the file. */
export function reopen(file: string) {
  const database = openSqliteDatabase(file);
  createSqliteOrderStore(database);
  database.close();
  return look(file);
}

/** Returns the orders of a file, even while a process uses it. Asserts that the file is sound. */
export function look(file: string) {
  const database = openSqliteDatabase(file);
  const ask = (sql: string) => String(Object(database.prepare(`SELECT (${sql}) AS value`).get()).value);
  // One text has all ids, because thousands of rows would take longer than everything else.
  const idsOf = (sql: string) => new Set(Array.from(ask(sql).matchAll(/-?\d+/g), ([id]) => BigInt(id)));
  try {
    assert.equal(ask('SELECT integrity_check FROM pragma_integrity_check'), 'ok');
    return {
      stored: idsOf('SELECT group_concat(id) FROM orders'),
      cancelled: idsOf("SELECT group_concat(id) FROM orders WHERE status = 'cancelled'"),
    };
  } finally {
    database.close();
  }
}

/** Returns the ids that are not among the others. */
export function without(ids: Iterable<bigint>, others: ReadonlySet<bigint>): readonly bigint[] {
  return [...ids].filter((id) => !others.has(id));
}
