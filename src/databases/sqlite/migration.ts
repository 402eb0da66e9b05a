import { prepare, type SqliteDatabase, transaction } from './database.js';
import { isResult } from './failure.js';

/** The `application_id` that marks a file as this program's: "SOrd" in ASCII. */
export const APPLICATION_ID = 0x534f7264;

/** The table with each part's version. */
const VERSIONS = 'store_orders_versions';

/**
 * For each part of the program, such as `orders`: the SQL statements that migrate its tables. The
 * statement at index n migrates from version n to version n + 1.
 */
export type Schemas = Readonly<Record<string, readonly string[]>>;

/**
 * Migrates the tables of all parts to their newest version, in one transaction. With `onlyCreates`,
 * creates missing tables, but throws if a part has an older version. Throws, and changes nothing, if
 * the file holds another program's tables, is not a SQLite database, or has a newer version of a part
 * than this program knows.
 */
export function migrate(database: SqliteDatabase, schemas: Schemas, onlyCreates = false): void {
  const parts = Object.entries(schemas);

  function readVersions(): ReadonlyMap<string, number> {
    const versions = schemaVersions(database, schemas);
    for (const [part, { length: newest }] of parts) {
      const version = versions.get(part);
      if (onlyCreates && version !== 0 && version !== newest) {
        throw new Error(
          `the ${part} schema has version ${version}, but this program needs version ${newest}; start its server, which migrates the file`,
        );
      }
    }
    return versions;
  }

  // An older file is refused without its lock, which a server may hold for long.
  const current = readVersions();
  if (parts.every(([part, steps]) => current.get(part) === steps.length)) return;
  transaction(database, () => {
    // Another process may have migrated before this one got the lock.
    const versions = readVersions();
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`CREATE TABLE IF NOT EXISTS ${VERSIONS} (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT`);
    const setVersion = prepare(database, `INSERT OR REPLACE INTO ${VERSIONS} VALUES (?, ?)`);
    for (const [part, steps] of parts) {
      for (const step of steps.slice(versions.get(part))) database.exec(step);
      setVersion.run(part, BigInt(steps.length));
    }
  });
}

/**
 * Returns the version of each part's tables, or 0 if they are missing. Throws in the same cases as
 * {@link migrate}.
 */
export function schemaVersions(database: SqliteDatabase, schemas: Schemas): ReadonlyMap<string, number> {
  const versions = new Map<string, number>();
  const select = isOurs(database) && prepare(database, `SELECT version FROM ${VERSIONS} WHERE part = ?`);
  for (const [part, { length: newest }] of Object.entries(schemas)) {
    const [row] = select ? select.all(part) : [];
    const version = Number(row?.['version'] ?? 0);
    if (version > newest) {
      throw new Error(
        `the ${part} schema has version ${version}, but this program knows only versions up to ${newest}; use a newer store-orders`,
      );
    }
    versions.set(part, version);
  }
  return versions;
}

/** Litestream adds tables of its own to each database that it replicates. */
const SELECT_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '_litestream_*'";

/**
 * Returns whether this program created the tables. Returns `false` for a database without tables,
 * which this program may use. Throws for the database of another program.
 */
export function isOurs(database: SqliteDatabase): boolean {
  let isUnmarked: boolean;
  try {
    // `PRAGMA application_id` must not come first. If the file is busy, libsql would keep the
    // failed statement open, and the file could not be switched to WAL mode.
    const tables = prepare(database, SELECT_TABLES).all();
    if (tables.length === 0) return false;
    const [row] = prepare(database, 'PRAGMA application_id').all();
    if (row?.['application_id'] === BigInt(APPLICATION_ID)) return true;
    isUnmarked = tables.some(({ name }) => name === VERSIONS);
  } catch (error) {
    if (!isResult(error, 'not_a_database')) throw error;
    throw new Error(
      'the file is not a SQLite database; name another file, or move this one away and restore a backup with db restore',
      { cause: error },
    );
  }
  throw new Error(
    isUnmarked
      ? `the file has the tables of store-orders without their mark, which ".dump" leaves out; run "PRAGMA application_id = ${APPLICATION_ID}" on it`
      : 'the file is not an order database, because it holds other tables; use a separate file',
  );
}
