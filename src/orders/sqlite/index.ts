export type { SqliteDatabase, SqliteStatement, SqliteValue } from '../../databases/sqlite/database.js';
export { openSqliteDatabase } from '../../databases/sqlite/driver.js';
export { type FailureKind, SqliteFileError } from '../../databases/sqlite/failure.js';
export {
  createSqliteOrderStore,
  type FileParts,
  type HandleParts,
  openSqliteOrderStore,
  type SqliteFileOrderStore,
  type SqliteOrderStore,
} from './store.js';
