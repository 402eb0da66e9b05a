import { FIELDS, isFieldName } from '../../../orders/fields.js';
import { ORDER_FIELDS, type OrderRecord } from '../../../orders/record.js';

/** The first line of an exported CSV file (RFC 4180). */
export const CSV_HEAD = ORDER_FIELDS.join(',');

/** Prints one row. No field needs quotes: all are numbers, date-times, booleans or words. */
export function printCsvRow(record: OrderRecord): string {
  return ORDER_FIELDS.map((column) => record[column] ?? '').join(',');
}

export type CsvRow =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly message: string };

/**
 * Creates a reader of rows. `head` is the first line, which names the columns in any order. An
 * empty cell is an absent field.
 */
export function createCsvReader(head: string): ((row: string) => CsvRow) | { readonly message: string } {
  const names = cellsOf(head);
  if (names === undefined) return { message: BAD_QUOTES };
  const known: readonly string[] = ORDER_FIELDS;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return { message: `unknown column ${JSON.stringify(unknown)}; the known columns are ${ORDER_FIELDS.join(', ')}` };
  }
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) return { message: `the column ${JSON.stringify(twice)} appears twice` };
  return (row) => {
    const cells = cellsOf(row);
    if (cells === undefined) return { ok: false, message: BAD_QUOTES };
    if (cells.length !== names.length) {
      return { ok: false, message: `expected ${names.length} cells as in the first line, but found ${cells.length}` };
    }
    const value: Record<string, unknown> = {};
    for (const [i, name] of names.entries()) if (cells[i]) value[name] = fieldOf(name, cells[i]);
    return { ok: true, value };
  };
}

const BAD_QUOTES = 'invalid CSV: a cell with a quote must begin and end with a quote, on the same line';
const CELL = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

/** Splits a line into cells. Returns `undefined` for a line that is not valid CSV. */
function cellsOf(line: string): string[] | undefined {
  if (!line.includes('"')) return line.split(',');
  const cells: string[] = [];
  CELL.lastIndex = 0;
  for (;;) {
    const match = CELL.exec(line);
    if (match === null) return undefined;
    const [, inQuotes, plain = '', end] = match;
    cells.push(inQuotes === undefined ? plain : inQuotes.replaceAll('""', '"'));
    if (end === '') return cells;
  }
}

/** Every integer of at most this many digits is exact as a double. */
const EXACT_DIGITS = 15;

/**
 * Converts a cell to the type of its field. A cell that cannot be converted stays text, so the
 * check of the record rejects it later.
 */
function fieldOf(name: string, cell: string): unknown {
  const type = isFieldName(name) ? FIELDS[name].type : undefined;
  if (type?.name === 'boolean') return cell === 'true' || cell === 'false' ? cell === 'true' : cell;
  if (type?.sqlite !== 'INTEGER') return cell;
  if (!/^(?:0|-?[1-9][0-9]{0,30})$/.test(cell)) return cell;
  return cell.length <= EXACT_DIGITS ? Number(cell) : BigInt(cell);
}
