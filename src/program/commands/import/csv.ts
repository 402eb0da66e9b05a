import { ORDER_FIELDS } from '../../../orders/exact-json.js';
import { FIELDS, isFieldName } from '../../../orders/fields.js';
import type { OrderRecord } from '../../../orders/index.js';
import { ImportMistake } from './lines.js';

/** The first line of an exported CSV file (RFC 4180). */
export const CSV_HEAD = ORDER_FIELDS.join(',');

/** Serialises one row. No field needs quotes: all are numbers, date-times, booleans or words. */
export function serializeCsvRow(record: OrderRecord): string {
  return ORDER_FIELDS.map((column) => record[column] ?? '').join(',');
}

/**
 * Creates a function that reads one line per call. It returns `undefined` for the first line, which
 * names the columns in any order and letter case, and for a line of empty cells, which spreadsheets
 * write. An empty cell is an absent field. Throws an {@link ImportMistake}.
 */
export function createCsvReader(): (text: string, line: number) => Readonly<Record<string, unknown>> | undefined {
  let columns: readonly string[] | undefined;
  return (text, line) => {
    const cells = cellsOf(text.endsWith('\r') ? text.slice(0, -1) : text, line);
    if (columns === undefined) {
      columns = columnsOf(cells, line);
      return undefined;
    }
    if (cells.every((cell) => cell === '')) return undefined;
    if (cells.length !== columns.length) {
      throw new ImportMistake(line, `expected ${columns.length} cells as in the first line, but found ${cells.length}`);
    }
    const value: Record<string, unknown> = {};
    for (const [i, column] of columns.entries()) if (cells[i]) value[column] = fieldOf(column, cells[i], line);
    return value;
  };
}

/** Returns the field of each column. */
function columnsOf(cells: readonly string[], line: number): readonly string[] {
  const names = cells.map((cell) => {
    const known = ORDER_FIELDS.find((name) => name.toLowerCase() === cell.toLowerCase());
    if (known !== undefined) return known;
    const message = `unknown column ${JSON.stringify(cell)}; the known columns are ${ORDER_FIELDS.join(', ')}`;
    throw new ImportMistake(line, message);
  });
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new ImportMistake(line, `the column "${twice}" appears twice`);
  return names;
}

const CELL = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

function cellsOf(text: string, line: number): string[] {
  if (!text.includes('"')) return text.split(',');
  const cells: string[] = [];
  CELL.lastIndex = 0;
  for (;;) {
    const match = CELL.exec(text);
    if (match === null) {
      const message = 'invalid CSV: a cell with a quote must begin and end with a quote, on the same line';
      throw new ImportMistake(line, message);
    }
    const [, inQuotes, plain = '', end] = match;
    cells.push(inQuotes === undefined ? plain : inQuotes.replaceAll('""', '"'));
    if (end === '') return cells;
  }
}

/** Matches an integer, also one that a program has kept as a double, such as `5.0`. */
const INTEGER = /^(0|-?[1-9][0-9]*)(\.0+)?$/;

/** Matches an integer of which a spreadsheet has kept only the first digits. */
const ROUNDED = /^-?[0-9][.,][0-9]+e[+][0-9]+$/i;

/** Converts a cell to the type of its field, if possible. `parseOrderRecord` refuses the others. */
function fieldOf(name: string, cell: string, line: number): unknown {
  const type = isFieldName(name) ? FIELDS[name].type : undefined;
  if (type?.sqlType === 'boolean' && /^(?:true|false)$/i.test(cell)) return cell.toLowerCase() === 'true';
  if (type?.sqlType !== 'bigint') return cell;
  const [, digits, decimals] = INTEGER.exec(cell) ?? [];
  // A double beyond 2^53 may be the neighbour of the number that was meant.
  const isRounded = decimals === undefined ? ROUNDED.test(cell) : !Number.isSafeInteger(Number(digits));
  if (isRounded) {
    const advice = 'write the file again with this column as text';
    throw new ImportMistake(line, `${name} "${cell}" was rounded by another program; ${advice}`);
  }
  return digits === undefined ? cell : BigInt(digits);
}
