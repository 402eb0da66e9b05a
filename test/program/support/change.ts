import { openSqliteDatabase } from 'store-orders/sqlite';

/** Executes SQL on a file as another program could. */
export function change(file: string, sql: string): void {
  const database = openSqliteDatabase(file);
  // A running server or command may hold the lock for a moment.
  database.exec(`PRAGMA busy_timeout = 5000; ${sql}`);
  database.close();
}
