import {
  holdConnection,
  isUniqueViolation,
  type PostgresClient,
  type PostgresPool,
  WAIT_FOR_DISK,
} from '../../databases/postgres/client.js';
import type { OrderRecord } from '../record.js';
import type { PutOutcome } from '../store.js';
import { writeBehind } from '../write-behind.js';
import { COLUMNS, GIVEN_ROWS, printRecords, REPLACE } from './put.js';

/**
 * Only the connection that creates this table sees it. The end of the transaction drops the table.
 */
const SET_ASIDE = 'CREATE TEMPORARY TABLE store_orders_aside (LIKE store_orders) ON COMMIT DROP';
const ADD = `INSERT INTO pg_temp.store_orders_aside (${COLUMNS}) SELECT * FROM ${GIVEN_ROWS}`;
/**
 * Finds the first record of the input whose id is stored already. `ctid` is the position of a row
 * in its table. No row of this table was updated or deleted, so the positions of the rows have the
 * sequence of the input.
 */
const TAKEN = `SELECT id::text FROM pg_temp.store_orders_aside AS a
  WHERE EXISTS (SELECT FROM store_orders AS o WHERE o.id = a.id) ORDER BY a.ctid LIMIT 1`;
/** Inserts in ascending order of ids, so that two concurrent imports cannot deadlock. */
const STORE = `INSERT INTO store_orders (${COLUMNS}) SELECT ${COLUMNS} FROM pg_temp.store_orders_aside ORDER BY id`;

/**
 * Stores batches of records in the store's own table, all of them or none. Every record must have a
 * different id. The records wait in a temporary table until the last batch has arrived. During this
 * time, no row of the orders is locked.
 */
export async function importRecords(
  connect: NonNullable<PostgresPool['connect']>,
  batches: AsyncIterable<readonly OrderRecord[]>,
  replace: boolean,
): Promise<PutOutcome> {
  const client = await holdConnection(connect);
  let isDone = false;
  try {
    await client.query('BEGIN');
    await client.query(SET_ASIDE);
    let count = 0;
    await writeBehind(batches, (batch) => {
      count += batch.length;
      return client.query(ADD, [printRecords(batch)]);
    });
    const taken = await storeAside(client, replace);
    await client.query(taken === undefined ? 'COMMIT' : 'ROLLBACK');
    isDone = true;
    return taken === undefined ? { outcome: 'stored', count } : { outcome: 'exists', id: BigInt(taken) };
  } finally {
    // Closing the connection rolls back what is not committed.
    client.release(!isDone);
  }
}

/**
 * Stores the records of the temporary table. If some of their ids are stored already, stores
 * nothing and returns the first of these ids.
 */
async function storeAside(client: PostgresClient, replace: boolean): Promise<string | undefined> {
  await client.query(`SELECT ${WAIT_FOR_DISK}`);
  if (replace) {
    await client.query(`${STORE} ${REPLACE}`);
    return undefined;
  }
  const taken = await takenId(client);
  if (taken !== undefined) return taken;
  await client.query('SAVEPOINT looked');
  try {
    await client.query(STORE);
    return undefined;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    // Another transaction has committed one of these ids since the check.
    await client.query('ROLLBACK TO looked');
    const since = await takenId(client);
    if (since === undefined) throw error;
    return since;
  }
}

async function takenId(client: PostgresClient): Promise<string | undefined> {
  const [row] = (await client.query(TAKEN)).rows;
  return row && String(row['id']);
}
