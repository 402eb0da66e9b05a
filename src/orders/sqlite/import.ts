import { type ExactStatement, prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import type { WriteQueue } from '../../databases/sqlite/group-commit.js';
import type { OrderRecord } from '../record.js';
import type { PutOutcome } from '../store.js';
import { writeBehind } from '../write-behind.js';
import { type FixedRows, parametersOf, printFixedRows, SELECT_FIXED_ROWS } from './fixed-rows.js';
import { COLUMNS, COUNT_REVISION } from './table.js';

export type ImportWrites = {
  /** Adds records to a temporary table of this connection. */
  setAside(rows: FixedRows, isFirst: boolean): void;
  /** Stores the whole temporary table or nothing. `records` is the number of its rows. */
  storeAside(options: { readonly replace: boolean; readonly records: number }): PutOutcome;
};

/**
 * Stores batches of records, all of them or none. Every record must have a different id. The
 * records wait in a temporary table until the last batch has arrived. The file is locked while a
 * batch is added to this table. At the end, it is locked while all records are stored, for 0.4 µs
 * per record.
 */
export async function importRecords(
  { write }: WriteQueue,
  { setAside, storeAside }: ImportWrites,
  batches: AsyncIterable<readonly OrderRecord[]>,
  replace: boolean,
): Promise<PutOutcome> {
  let records = 0;
  await writeBehind(batches, (batch) => {
    const isFirst = records === 0;
    records += batch.length;
    return write(() => setAside(printFixedRows(batch), isFirst));
  });
  return records === 0 ? { outcome: 'stored', count: 0 } : write(() => storeAside({ replace, records }));
}

/** Prepares the import on a database that already has the tables. */
export function prepareImport(database: SqliteDatabase): ImportWrites {
  // Without this setting, libsql keeps temporary tables in memory.
  database.exec('PRAGMA temp_store = FILE');
  let add: ExactStatement | undefined;
  const idsOf = (which: string) =>
    prepare(database, `SELECT id FROM temp.aside ${which}`)
      .all()
      .map(({ id }) => ({ id: BigInt(id ?? 0) }));

  return {
    setAside(rows, isFirst) {
      // This table has the same columns as the orders table, so SQLite can copy whole rows.
      if (isFirst) {
        database.exec(`DROP TABLE IF EXISTS temp.aside; CREATE TEMP TABLE aside ${COLUMNS}`);
        add = prepare(database, `INSERT INTO temp.aside ${SELECT_FIXED_ROWS}`);
      }
      add?.run(...parametersOf(rows));
    },

    storeAside({ replace, records }) {
      const [taken] = replace ? [] : idsOf('WHERE id IN (SELECT id FROM main.orders) LIMIT 1');
      if (taken !== undefined) return { outcome: 'exists', id: taken.id };
      database.exec(`INSERT ${replace ? 'OR REPLACE' : ''} INTO main.orders SELECT * FROM temp.aside`);
      database.exec(COUNT_REVISION);
      return { outcome: 'stored', count: records };
    },
  };
}
