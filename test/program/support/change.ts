import { openSqliteDatabase } from 'store-orders/sqlite';

/** Executes SQL on a file as another program could. */
export function change(file: string, sql: string): void {
  const database = openSqliteDatabase(file);
  database.exec(sql);
  database.close();
}
