import { prepare, type SqliteDatabase, type SqliteRow } from '../../databases/sqlite/database.js';
import { isResult } from '../../databases/sqlite/failure.js';
import type { WriteQueue } from '../../databases/sqlite/group-commit.js';
import type { ImportedRecord, ImportOutcome } from '../store.js';
import { COLUMN_NAMES, INSERT_TRIGGER, valuesOf } from './table.js';

const COLUMNS = ['line', ...COLUMN_NAMES];

/** Adds a JSON array of rows. Binding the values of each row instead would not be faster. */
const ADD = `INSERT INTO temp.staging SELECT ${COLUMNS.map((_, index) => `value ->> ${index}`)} FROM json_each(?)`;
const FIND_DUPLICATE = `SELECT id, max(line) AS line, min(line) AS earlier FROM temp.sorted
  GROUP BY id HAVING count(*) > 1 ORDER BY line LIMIT 1`;
const FIND_EXISTING = `SELECT id, line FROM temp.sorted WHERE id IN (SELECT id FROM main.orders) ORDER BY line LIMIT 1`;

/** In a step of its own, because a sort in the transaction would double the time in which others wait. */
const SORT = 'CREATE TEMP TABLE sorted AS SELECT * FROM temp.staging ORDER BY id; DROP TABLE temp.staging';

/**
 * Stores batches of records, all of them or none. Until the last batch has arrived, they wait in a
 * temporary table, and the file is not locked.
 */
export async function importRecords(
  database: SqliteDatabase,
  { write }: WriteQueue,
  batches: AsyncIterable<readonly ImportedRecord[]>,
  replace: boolean,
): Promise<ImportOutcome> {
  // Without `temp_store`, libsql keeps temporary tables in memory. The records are valid already, so
  // no check makes others wait longer for the lock.
  database.exec(
    `PRAGMA temp_store = FILE; PRAGMA ignore_check_constraints = ON; CREATE TEMP TABLE staging (${COLUMNS})`,
  );
  const add = prepare(database, ADD);
  let count = 0;
  for await (const batch of batches) {
    add.run(`[${batch.map(rowOf)}]`);
    count += batch.length;
  }
  database.exec(SORT);
  const [duplicate] = prepare(database, FIND_DUPLICATE).all();
  if (duplicate !== undefined) {
    return { outcome: 'twice', ...placeOf(duplicate), earlier: Number(duplicate['earlier']) };
  }
  try {
    return await write((): ImportOutcome => {
      const [existing] = replace ? [] : prepare(database, FIND_EXISTING).all();
      if (existing !== undefined) return { outcome: 'exists', ...placeOf(existing) };
      // Without the trigger, which would take most of the time in which others wait for the lock.
      database.exec('DROP TRIGGER IF EXISTS main.orders_inserted');
      database.exec(`INSERT OR REPLACE INTO main.orders (${COLUMN_NAMES})
        SELECT ${COLUMN_NAMES} FROM temp.sorted`);
      database.exec(`${INSERT_TRIGGER}; UPDATE main.orders_revision SET revision = revision + 1`);
      return { outcome: 'stored', count };
    });
  } catch (error) {
    // If the last fsync fails, SQLite may find the orders in the log at the next start.
    if (isResult(error, 'io')) return { outcome: 'unknown', cause: error };
    throw error;
  }
}

function placeOf(row: SqliteRow) {
  return { id: BigInt(row['id'] ?? 0), line: Number(row['line']) };
}

function rowOf({ record, line }: ImportedRecord): string {
  const values = valuesOf(record).map((value) => (typeof value === 'string' ? JSON.stringify(value) : `${value}`));
  return `[${line},${values}]`;
}
