import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { SqliteFileError } from '../../databases/sqlite/failure.js';
import { migrate } from '../../databases/sqlite/migration.js';
import { damage, problemsOf } from './integrity.js';
import { SCHEMAS } from './program-parts.js';
import { openAsItIs, reasonOf, troubleOf } from './sqlite.js';

type Opened = ReturnType<typeof openAsItIs>;

/**
 * Runs `work` on an existing file, without migrating its tables. Throws a {@link SqliteFileError}
 * whose message calls the file `name`.
 */
export function withUnmigratedFile<T>(file: string, work: (opened: Opened) => T, name = file): T {
  let opened: Opened | undefined;
  try {
    opened = openAsItIs(file);
    return work(opened);
  } catch (error) {
    if (error instanceof SqliteFileError) throw error;
    throw new SqliteFileError(troubleOf(error, name, 'read') ?? `${name}: ${reasonOf(error)}`, 'other');
  } finally {
    opened?.database.close();
  }
}

/** Tables that `ANALYZE` creates. */
const STATISTICS: readonly string[] = ['table sqlite_stat1', 'table sqlite_stat4'];

/**
 * Returns the reason why a database must not be backed up or restored: it is damaged, it has no
 * tables, or it has views, triggers or tables of others. A trigger could create an API key when an
 * order is cancelled. The reason calls the database `name`.
 */
export function contentRefusal(name: string, { database, versions }: Opened): string | undefined {
  const problems = problemsOf(database);
  if (problems.length > 0) return damage(name, problems);
  if (versions.get('orders') === 0) {
    return `${name} has no tables; start a server on it to create them`;
  }
  const revisions = Number(prepare(database, 'SELECT count(*) AS count FROM orders_revision').get()?.['count']);
  if (revisions !== 1) return damage(name, [`orders_revision has ${revisions} rows instead of 1`]);
  const known = new Set([...STATISTICS, ...objectsOf(versions)]);
  const unknown = objectsIn(database).find((object) => !known.has(object));
  if (unknown === undefined) return undefined;
  return `${name} contains a ${JSON.stringify(unknown).slice(1, -1)} that store-orders did not create; drop it first`;
}

/** Returns the objects of a new database with tables of these versions. */
function objectsOf(versions: Opened['versions']): readonly string[] {
  const schemas = Object.entries(SCHEMAS).map(([part, steps]) => [part, steps.slice(0, versions.get(part))] as const);
  const fresh = openSqliteDatabase(':memory:');
  try {
    migrate(fresh, Object.fromEntries(schemas));
    return objectsIn(fresh);
  } finally {
    fresh.close();
  }
}

/** Returns the kind and the name of all objects except indexes, which cannot change anything. */
function objectsIn(database: SqliteDatabase): readonly string[] {
  const rows = prepare(database, "SELECT type || ' ' || name AS object FROM sqlite_schema WHERE type <> 'index'").all();
  return rows.map(({ object }) => String(object));
}
