import { isUniqueViolation, type PostgresClient, WAIT_FOR_DISK } from '../../databases/postgres/client.js';
import { FIELD_NAMES, FIELDS } from '../fields.js';
import { serializeRecord } from '../json.js';
import type { OrderRecord } from '../record.js';
import type { PutOutcome } from '../store.js';

const NAMES = [...FIELD_NAMES.map((name) => FIELDS[name].column), 'status'];
export const COLUMNS = NAMES.join(', ');

/**
 * SQL that converts the text of {@link serializeRecords} to rows, whose columns are in the order of
 * {@link COLUMNS}.
 */
export const GIVEN_ROWS = `json_to_recordset($1::text::json)
    AS (${FIELD_NAMES.map((name) => `"${name}" ${FIELDS[name].type.postgres}`).join(', ')}, status text)`;

/** The rows of all records. `place` is the position of the record in the input. */
const GIVEN = `given (${COLUMNS}, place) AS (SELECT * FROM ROWS FROM (${GIVEN_ROWS}) WITH ORDINALITY)`;

/** Replaces an order that is already stored. */
export const REPLACE = `ON CONFLICT (id) DO UPDATE SET (${COLUMNS}) = (
      ${NAMES.map((name) => `excluded.${name}`).join(', ')})`;

// `INSERT` and `UPSERT` store the orders in ascending order of ids, so that two concurrent puts
// cannot deadlock.

const INSERT = `WITH ${GIVEN},
  taken AS (
    SELECT id FROM (SELECT id, place, row_number() OVER (PARTITION BY id ORDER BY place) AS nth FROM given) AS one
    WHERE nth > 1 OR EXISTS (SELECT FROM store_orders AS o WHERE o.id = one.id) ORDER BY place LIMIT 1),
  stored AS (
    INSERT INTO store_orders (${COLUMNS})
    SELECT ${COLUMNS} FROM given WHERE NOT EXISTS (SELECT FROM taken) ORDER BY id RETURNING 1)
  SELECT (SELECT id FROM taken)::text AS taken, (SELECT count(*) FROM stored)::text AS count, ${WAIT_FOR_DISK}`;

const UPSERT = `WITH ${GIVEN},
  stored AS (
    INSERT INTO store_orders (${COLUMNS})
    SELECT DISTINCT ON (id) ${COLUMNS} FROM given ORDER BY id, place DESC
    ${REPLACE}
    RETURNING 1)
  SELECT NULL AS taken, (SELECT count(*) FROM stored)::text AS count, ${WAIT_FOR_DISK}`;

/** Adds the records to the store's own table, in one statement. */
export async function putRecords(
  client: PostgresClient,
  records: readonly OrderRecord[],
  replace: boolean,
): Promise<PutOutcome> {
  const put = () => client.query(replace ? UPSERT : INSERT, [serializeRecords(records)]);
  const { rows } = await put().catch((error) => {
    // Nothing was stored, because another transaction has committed one of these ids since the
    // statement began. A second attempt finds that order.
    if (isUniqueViolation(error)) return put();
    throw error;
  });
  const { taken, count } = rows[0] ?? {};
  if (typeof taken === 'string') return { outcome: 'exists', id: BigInt(taken) };
  return { outcome: 'stored', count: Number(count) };
}

export function serializeRecords(records: readonly OrderRecord[]): string {
  return `[${records.map(serializeRecord).join(',')}]`;
}
