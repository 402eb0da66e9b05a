export type { SqliteDatabase, SqliteStatement, SqliteValue } from '../../databases/sqlite/database.js';
export { openSqliteDatabase } from '../../databases/sqlite/driver.js';
export { type FailureKind, SqliteFileError } from '../../databases/sqlite/failure.js';
export { openSqliteOrderStore, type SqliteFileOrderStore } from './file-store.js';
export { createSqliteOrderStore, type SqliteOrderStore } from './store.js';
