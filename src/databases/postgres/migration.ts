import type { PostgresPool } from './client.js';
import { beginTransaction, LIFT_TIMEOUTS } from './transaction.js';

/**
 * For each part of the program, such as `orders`: the SQL statements that migrate its tables. The
 * statement at index n migrates from version n to version n + 1.
 */
export type Schemas = Readonly<Record<string, readonly string[]>>;

/** An arbitrary number that no other program is likely to use as its advisory lock. */
const LOCK = 4_919_131_752_989_213_544n;

export interface MigrationOptions {
  /** Whether to create missing tables. If not, rejects, because the database may be the wrong one. */
  readonly creates: boolean;
  /** Whether to migrate older tables. If not, rejects, because a server may be using them. */
  readonly upgrades: boolean;
}

/**
 * Migrates the tables of all parts to their newest versions, all or none. Processes that migrate at
 * the same time wait for each other, for 30 s or the session's `lock_timeout`. The table
 * `store_orders_versions` contains each part's version. If everything is up to date, nothing is
 * written or locked, and no right to write is needed. Rejects if another program has a table of the
 * same name, or if a part is newer than this program knows. The session's other time limits do not
 * apply, if the pool lends a connection.
 */
export async function migrateTables(
  pool: PostgresPool,
  schemas: Schemas,
  { creates, upgrades }: MigrationOptions,
): Promise<void> {
  const newest = Object.entries(schemas).map(([part, steps]) => `('${part}', ${steps.length})`);
  const text = `DO $migrate$
DECLARE
  found integer;
BEGIN
  IF to_regclass('store_orders_versions') IS NOT NULL THEN
    SELECT count(*) INTO found FROM store_orders_versions WHERE (part, version) IN (${newest.join(', ')});
    IF found = ${newest.length} THEN RETURN; END IF;
  END IF;
  IF current_setting('lock_timeout') = '0' THEN PERFORM set_config('lock_timeout', '30s', true); END IF;
  PERFORM pg_advisory_xact_lock(${LOCK});
  IF to_regclass('store_orders_versions') IS NULL THEN
    ${creates ? '' : "RAISE 'it has no store-orders tables; check its name, or start the server to create them';"}
    -- IF NOT EXISTS: a table that was created during the wait for the lock can still be invisible.
    CREATE TABLE IF NOT EXISTS store_orders_versions (part text PRIMARY KEY, version integer NOT NULL);
  END IF;
  ${Object.entries(schemas)
    .map(([part, steps]) => migrationOf(part, steps, upgrades))
    .join('\n  ')}
EXCEPTION WHEN lock_not_available THEN
  RAISE 'another session keeps a lock that the migration needs; wait until its migration ends, or find the session in pg_locks';
END $migrate$`;
  if (pool.connect === undefined) {
    await pool.query({ text });
    return;
  }
  const transaction = await beginTransaction(pool.connect.bind(pool), 'BEGIN', LIFT_TIMEOUTS);
  try {
    await transaction.query({ text });
    await transaction.commit();
  } finally {
    transaction.end();
  }
}

function migrationOf(part: string, steps: readonly string[], upgrades: boolean): string {
  const newest = steps.length;
  return `found := coalesce((SELECT version FROM store_orders_versions WHERE part = '${part}'), 0);
  IF found > ${newest} THEN
    RAISE 'the ${part} schema has version %, but this program knows only versions up to ${newest}; use a newer store-orders', found;
  END IF;
  IF found BETWEEN 1 AND ${newest - 1} AND NOT ${upgrades} THEN
    RAISE 'the ${part} schema has version %, but this program needs version ${newest}; start its server, which migrates the tables', found;
  END IF;
  ${steps.map((step, version) => `IF found <= ${version} THEN ${step}; END IF;`).join('\n  ')}
  IF found < ${newest} THEN
    INSERT INTO store_orders_versions VALUES ('${part}', ${newest})
      ON CONFLICT (part) DO UPDATE SET version = excluded.version;
  END IF;`;
}
