import type { SqliteValue } from '../../databases/sqlite/database.js';
import type { OrderRecord } from '../record.js';

/**
 * Records serialised as one text. Each row has the fields id, petId, quantity, complete, shipDate
 * and status. Spaces give a field the same length in all rows, so all rows have the same length. An
 * absent field consists of spaces.
 */
export interface FixedRows {
  readonly text: string;
  readonly records: number;
  /** The lengths of the two fields that are not integers. */
  readonly shipDate: number;
  readonly status: number;
}

/** The length of a field that contains an integer. Every int64 fits into it. */
const INTEGER = 20;
const INTEGERS = 4 * INTEGER;

/**
 * Returns SQL that cuts a field out of the text. The SQL converts the text to bytes, because SQLite
 * finds the nth byte directly, but has to count all characters before the nth one. SQLite converts
 * the text only once.
 */
const bytes = (place: number | string, length: number | string) =>
  `substr(CAST(?1 AS BLOB), start + 1 + ${place}, ${length})`;
const integer = (nth: number) =>
  `CAST(nullif(${bytes(nth * INTEGER, INTEGER)}, x'${'20'.repeat(INTEGER)}') AS INTEGER)`;
const word = (place: string, length: string) => `nullif(rtrim(CAST(${bytes(place, length)} AS TEXT)), '')`;

/**
 * Converts the bound text to rows with the columns of the orders table, in 0.9 µs per row. With
 * `json_each` it would take 1.5 µs per row. One statement per row would take 1.0 µs with
 * node:sqlite and 3.9 µs with libsql.
 */
export const SELECT_FIXED_ROWS = `
  WITH RECURSIVE rows (start) AS (SELECT 0 UNION ALL SELECT start + ?2 FROM rows WHERE start + ?2 < ?3)
  SELECT ${integer(0)}, ${integer(1)}, ${integer(2)}, ${word(`${INTEGERS}`, '?4')}, ${integer(3)},
    ${word(`${INTEGERS} + ?4`, '?5')}
  FROM rows`;

/** Returns the parameters of {@link SELECT_FIXED_ROWS}. */
export function parametersOf({ text, records, shipDate, status }: FixedRows): readonly SqliteValue[] {
  return [text, ...[text.length / records, text.length, shipDate, status].map(BigInt)];
}

/** Serialises one or more records. Their texts must be ASCII. */
export function printFixedRows(records: readonly OrderRecord[]): FixedRows {
  let longestDate = 0;
  let longestStatus = 0;
  for (const { shipDate = '', status } of records) {
    longestDate = Math.max(longestDate, shipDate.length);
    longestStatus = Math.max(longestStatus, status.length);
  }
  const length = INTEGERS + longestDate + longestStatus;
  const rows = Buffer.alloc(records.length * length, ' ');
  let start = 0;
  for (const { id, petId, quantity, shipDate = '', complete, status } of records) {
    printInteger(rows, start + INTEGER, id);
    if (petId !== undefined) printInteger(rows, start + 2 * INTEGER, petId);
    if (quantity !== undefined) printInteger(rows, start + 3 * INTEGER, quantity);
    if (complete !== undefined) printInteger(rows, start + INTEGERS, Number(complete));
    printWord(rows, start + INTEGERS, shipDate);
    printWord(rows, start + INTEGERS + longestDate, status);
    start += length;
  }
  return { text: rows.toString('latin1'), records: records.length, shipDate: longestDate, status: longestStatus };
}

const ZERO = 0x30;

/**
 * Writes the digits of an integer, from the last to the first. Takes a third of the time of
 * `String`.
 */
function printInteger(rows: Buffer, end: number, integer: bigint | number): void {
  let rest = Number(integer);
  if (rest < 0 || rest > Number.MAX_SAFE_INTEGER) {
    const text = String(integer);
    rows.write(text, end - text.length, 'latin1');
    return;
  }
  let place = end;
  do {
    const tenth = Math.floor(rest / 10);
    rows[--place] = ZERO + (rest - 10 * tenth);
    rest = tenth;
  } while (rest > 0);
}

function printWord(rows: Buffer, start: number, word: string): void {
  for (let at = 0; at < word.length; at++) rows[start + at] = word.charCodeAt(at);
}
