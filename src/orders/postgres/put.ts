import { codeOf, type PostgresClient, WAIT_FOR_DISK } from '../../databases/postgres/client.js';
import { FIELD_NAMES, FIELDS } from '../fields.js';
import { serializeRecord } from '../json.js';
import type { OrderRecord } from '../record.js';
import { firstConflict, type PutOutcome } from '../store.js';

const NAMES = [...FIELD_NAMES.map((name) => FIELDS[name].column), 'status'];
export const COLUMNS = NAMES.join(', ');

/** SQL that converts the text of {@link serializeRecords} to rows of {@link COLUMNS}. */
export const GIVEN_ROWS = `json_to_recordset($1::text::json)
    AS (${FIELD_NAMES.map((name) => `"${name}" ${FIELDS[name].type.sqlType}`).join(', ')}, status text)`;

/** SQL that replaces an order that is already stored. */
export const REPLACE = `ON CONFLICT (id) DO UPDATE SET (${COLUMNS}) = (
      ${NAMES.map((name) => `excluded.${name}`).join(', ')})`;

/** SQL that stores orders in ascending order of ids, so that concurrent puts cannot deadlock. */
const insertStatement = (onConflict: string) => `WITH given (${COLUMNS}) AS (SELECT * FROM ${GIVEN_ROWS}),
  stored AS (INSERT INTO store_orders (${COLUMNS}) SELECT * FROM given ORDER BY id ${onConflict} RETURNING 1)
  SELECT count(*), ${WAIT_FOR_DISK} FROM stored`;

const INSERT = insertStatement('');
const UPSERT = insertStatement(REPLACE);
/** The SQLSTATE code of an id that exists already. */
const UNIQUE_VIOLATION = '23505';
const FIND_EXISTING = 'SELECT id::text FROM store_orders WHERE id = ANY ($1::text::int8[])';

/** Adds the records to the store's own table, all of them or none. */
export async function putRecords(
  client: PostgresClient,
  records: readonly OrderRecord[],
  replace: boolean,
): Promise<PutOutcome> {
  const stored = replace ? [...new Map(records.map((record) => [record.id, record])).values()] : records;
  try {
    await client.query({ text: replace ? UPSERT : INSERT, values: [serializeRecords(stored)] });
    return { outcome: 'stored', count: stored.length };
  } catch (error) {
    if (codeOf(error) !== UNIQUE_VIOLATION) throw error;
    const { rows } = await client.query({ text: FIND_EXISTING, values: [`{${records.map(({ id }) => id)}}`] });
    const existing = new Set(rows.map((row) => BigInt(String(row['id']))));
    const id = firstConflict(records, (id) => existing.has(id));
    if (id === undefined) throw error;
    return { outcome: 'exists', id };
  }
}

export function serializeRecords(records: readonly OrderRecord[]): string {
  return `[${records.map(serializeRecord).join(',')}]`;
}
