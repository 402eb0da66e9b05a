import { existsSync, readFileSync, statSync } from 'node:fs';
import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { withDatabase } from '../../databases/sqlite/driver.js';
import { retryWhileBusy } from '../../databases/sqlite/durability.js';
import { damageError, failureOf, SqliteFileError } from '../../databases/sqlite/failure.js';
import { migrate, schemaVersions } from '../../databases/sqlite/migration.js';
import { SCHEMAS } from './program-parts.js';

/** An open file whose tables have not been migrated. */
export interface UnmigratedFile {
  readonly database: SqliteDatabase;
  /** The version of each part's tables, or 0 if they are missing. */
  readonly versions: ReadonlyMap<string, number>;
}

/** Throws if the file is missing, or if SQLite must not open it, or would empty it. */
export function checkFile(file: string): void {
  if (!existsSync(file)) {
    throw new SqliteFileError(`there is no database ${file}; check --db, or start the server to create it`, 'other');
  }
  if (!hasForeignJournal(file)) return;
  throw new Error(
    `the journal ${file}-journal belongs to a database that this file has replaced; ` +
      'rename this file, then copy it back with db restore, which also removes the journal',
  );
}

/**
 * Returns whether the journal beside the file belongs to an earlier database of the same name. This
 * happens if a process is killed while it creates a database, and a backup is then copied over that
 * database. With this journal, SQLite would roll the file back to an empty one. The earlier
 * database has at most one page, because it gets its tables later, with a write-ahead log.
 */
export function hasForeignJournal(file: string): boolean {
  // Reads the size before the journal, because another process may be creating the database.
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  let journal: Buffer;
  try {
    journal = readFileSync(`${file}-journal`);
  } catch {
    return false;
  }
  // A journal has the number of pages before the transaction at byte 16, and the size of a page at
  // byte 24 (SQLite file format, section 3). SQLite ignores a journal that begins with 0.
  if (journal.length < 28 || journal[0] === 0) return false;
  return journal.readUInt32BE(16) === 0 && bytes > journal.readUInt32BE(24);
}

/**
 * Runs `work` on an existing file, without migrating its tables. Throws a {@link SqliteFileError}
 * whose message calls the file `name`.
 */
export function withUnmigratedFile<T>(file: string, work: (opened: UnmigratedFile) => T, name = file): T {
  try {
    checkFile(file);
    return withDatabase(file, (database) =>
      work({ database, versions: retryWhileBusy(database, () => schemaVersions(database, SCHEMAS)) }),
    );
  } catch (error) {
    throw failureOf(error, name, 'read');
  }
}

/** A server checks files up to this size when it starts. A million orders (42 MB) take 0.2 s. */
const LARGEST_CHECKED_BYTES = 256 * 2 ** 20;

/** Throws a {@link SqliteFileError} if a server must not open the file. */
export function checkForServer(file: string): void {
  withUnmigratedFile(file, (opened) => {
    // SQLite may read a damaged page without an error, and the list would be wrong. The constraints
    // of a million rows would take another second.
    opened.database.exec('PRAGMA ignore_check_constraints = ON');
    if (statSync(file).size <= LARGEST_CHECKED_BYTES) checkIntegrity(opened.database, file);
    checkObjects(opened, file);
  });
}

/** Reads every page, and throws an error with the first problem if the database is damaged. */
function checkIntegrity(database: SqliteDatabase, name: string): void {
  const [row] = prepare(database, 'PRAGMA integrity_check(1)').all();
  // In some versions of SQLite, a line with the name of the database comes first.
  const problem = String(row?.['integrity_check']).split('\n').at(-1) ?? '';
  if (problem !== 'ok') throw damageError(name, problem);
}

/**
 * Throws a {@link SqliteFileError} if the database is damaged, has no orders table, or has views,
 * triggers or tables of another program.
 */
export function checkContents(opened: UnmigratedFile, name: string): void {
  checkIntegrity(opened.database, name);
  if (opened.versions.get('orders') === 0) {
    throw new SqliteFileError(`${name} has no tables; start a server on it to create them`, 'other');
  }
  checkObjects(opened, name);
}

/** Indexes, SQLite's own tables and Litestream's are harmless. */
const SELECT_OBJECTS = `SELECT type, name FROM sqlite_schema
  WHERE type IN ('trigger', 'view') OR type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_litestream_*'`;

/**
 * Throws a {@link SqliteFileError} if the database has a view, trigger or table that this program
 * does not create. A trigger could create an API key when an order is cancelled.
 */
function checkObjects({ database, versions }: UnmigratedFile, name: string): void {
  const schemas = Object.entries(SCHEMAS).map(([part, steps]) => [part, steps.slice(0, versions.get(part))]);
  const known = withDatabase(':memory:', (sound) => {
    migrate(sound, Object.fromEntries(schemas));
    return objectsOf(sound);
  });
  const foreign = objectsOf(database).find((object) => !known.includes(object));
  if (foreign === undefined) return;
  const advice = 'which store-orders did not create; drop it first';
  throw new SqliteFileError(`${name} contains the ${foreign}, ${advice}`, 'other');
}

function objectsOf(database: SqliteDatabase): readonly string[] {
  const rows = prepare(database, SELECT_OBJECTS).all();
  return rows.map(({ type, name }) => `${type} ${JSON.stringify(name)}`);
}
