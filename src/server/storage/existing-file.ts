import { existsSync, statSync } from 'node:fs';
import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { retryWhileBusy } from '../../databases/sqlite/durability.js';
import { damaged, failureOf, isResult, SqliteFileError } from '../../databases/sqlite/failure.js';
import { schemaVersions } from '../../databases/sqlite/migration.js';
import { SCHEMAS } from './program-parts.js';

/** An open file whose tables are as they were. */
export interface UnmigratedFile {
  readonly database: SqliteDatabase;
  /** The version of each part's tables, or 0 if they are missing. */
  readonly versions: ReadonlyMap<string, number>;
}

export function noSuchDatabase(file: string): string {
  return `there is no database ${file}; check --db, or start the server to create it`;
}

/** Throws if SQLite must not open the file. A missing file is accepted. */
export function checkKind(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isFile()) throw new Error('it is not a regular file; name another');
  if (found.nlink > 1) {
    throw new Error(
      `the file has ${found.nlink} names (hard links), and SQLite keeps a log beside each; remove all names but one`,
    );
  }
}

/**
 * Runs `work` on an existing file, without migrating its tables. Throws a {@link SqliteFileError}
 * whose message calls the file `name`.
 */
export function withUnmigratedFile<T>(file: string, work: (opened: UnmigratedFile) => T, name = file): T {
  if (!existsSync(file)) throw new SqliteFileError(noSuchDatabase(file), 'other');
  let database: SqliteDatabase | undefined;
  try {
    checkKind(file);
    const opened = openSqliteDatabase(file);
    database = opened;
    return work({ database, versions: retryWhileBusy(database, () => schemaVersions(opened, SCHEMAS)) });
  } catch (error) {
    throw failureOf(error, name, 'read');
  } finally {
    database?.close();
  }
}

/** Reads every page, and throws a {@link SqliteFileError} if the database is damaged. */
export function checkIntegrity(database: SqliteDatabase, name: string): void {
  const [problem, ...more] = problemsOf(database);
  if (problem !== undefined) throw damaged(name, more.length === 0 ? problem : `${problem}, and ${more.length} more`);
}

/** Returns up to a hundred problems. */
function problemsOf(database: SqliteDatabase): readonly string[] {
  try {
    const rows = prepare(database, 'PRAGMA integrity_check').all();
    const lines = rows.flatMap((row) => String(row['integrity_check']).split('\n'));
    return lines.filter((line) => line !== 'ok' && !line.startsWith('***'));
  } catch (error) {
    if (!isResult(error, 'damaged')) throw error;
    return [error.message];
  }
}

/** Throws a {@link SqliteFileError} if the database is damaged, or has no orders table. */
export function checkContents({ database, versions }: UnmigratedFile, name: string): void {
  checkIntegrity(database, name);
  if (versions.get('orders') === 0) {
    throw new SqliteFileError(`${name} has no tables; start a server on it to create them`, 'other');
  }
}
