import { type Connect, type PostgresClient, type PostgresRow, WAIT_FOR_DISK } from '../../databases/postgres/client.js';
import { beginTransaction, LIFT_TIMEOUTS } from '../../databases/postgres/transaction.js';
import type { ImportedRecord, ImportOutcome } from '../store.js';
import { COLUMNS, GIVEN_ROWS, REPLACE, serializeRecords } from './put.js';

const CREATE_STAGING = 'CREATE TEMPORARY TABLE store_orders_staging (LIKE store_orders, line int8) ON COMMIT DROP';
const ADD_TO_STAGING = `INSERT INTO pg_temp.store_orders_staging (${COLUMNS}, line)
  SELECT * FROM ROWS FROM (${GIVEN_ROWS}, unnest($2::text::int8[]))`;
const FIND_DUPLICATE = `SELECT id::text, max(line) AS line, min(line) AS earlier FROM pg_temp.store_orders_staging
  GROUP BY id HAVING count(*) > 1 ORDER BY 2 LIMIT 1`;
/** Inserts in ascending order of ids, so that two concurrent imports cannot deadlock. */
const INSERT_STAGED = `INSERT INTO store_orders (${COLUMNS}) SELECT ${COLUMNS} FROM pg_temp.store_orders_staging ORDER BY id`;
/** Inserts the orders that do not exist, and returns the first that does. */
const INSERT_NEW = `WITH stored AS (${INSERT_STAGED} ON CONFLICT (id) DO NOTHING RETURNING id)
  SELECT id::text, line FROM pg_temp.store_orders_staging AS s
  WHERE NOT EXISTS (SELECT FROM stored WHERE stored.id = s.id) ORDER BY line LIMIT 1`;

/**
 * Stores batches of records in the store's own table, all of them or none. Until the last batch has
 * arrived, they wait in a temporary table, and no order is locked.
 */
export async function importRecords(
  connect: Connect,
  batches: AsyncIterable<readonly ImportedRecord[]>,
  replace: boolean,
): Promise<ImportOutcome> {
  const transaction = await beginTransaction(connect, 'BEGIN', LIFT_TIMEOUTS, CREATE_STAGING);
  try {
    let count = 0;
    for await (const batch of batches) {
      const records = serializeRecords(batch.map(({ record }) => record));
      await transaction.query({ text: ADD_TO_STAGING, values: [records, `{${batch.map(({ line }) => line)}}`] });
      count += batch.length;
    }
    const refusal = await storeStaged(transaction, replace);
    if (refusal !== undefined) return refusal;
    try {
      await transaction.commit();
    } catch (cause) {
      return { outcome: 'unknown', cause };
    }
    return { outcome: 'stored', count };
  } finally {
    // Closing the connection rolls back what is not committed.
    transaction.end();
  }
}

/** Stores the records of the staging table, or returns why nothing can be stored. */
async function storeStaged(client: PostgresClient, replace: boolean): Promise<ImportOutcome | undefined> {
  await client.query({ text: `SELECT ${WAIT_FOR_DISK}` });
  const [duplicate] = (await client.query({ text: FIND_DUPLICATE })).rows;
  if (duplicate !== undefined) {
    return { outcome: 'twice', ...placeOf(duplicate), earlier: Number(duplicate['earlier']) };
  }
  const [existing] = (await client.query({ text: replace ? `${INSERT_STAGED} ${REPLACE}` : INSERT_NEW })).rows;
  return existing && { outcome: 'exists', ...placeOf(existing) };
}

function placeOf(row: PostgresRow) {
  return { id: BigInt(String(row['id'])), line: Number(row['line']) };
}
