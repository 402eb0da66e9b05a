import { prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { INT64_MAX, INT64_MIN } from '../order.js';
import type { OrderRecord } from '../record.js';
import { OUT_OF_ORDER, PAGE } from './pages.js';
import { recordOf } from './table.js';

/**
 * Yields all records in batches, in ascending order of ids. They come from one read transaction,
 * which ends with the iteration.
 */
export function* readRecords(database: SqliteDatabase): Generator<readonly OrderRecord[]> {
  const select = prepare(database, 'SELECT * FROM orders WHERE id >= ? ORDER BY id LIMIT ?');
  database.exec('BEGIN');
  try {
    let first = INT64_MIN;
    for (;;) {
      const records = select.all(first, PAGE).map(recordOf);
      const last = records.at(-1)?.id;
      if (last === undefined) return;
      if (last < first) throw new Error(OUT_OF_ORDER);
      yield records;
      if (last === INT64_MAX) return;
      first = last + 1n;
    }
  } finally {
    database.exec('COMMIT');
  }
}
