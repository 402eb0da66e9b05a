import type { OrderRecord } from '../../../orders/record.js';

/** The columns of a CSV file (RFC 4180), in the order in which they are written. */
const COLUMNS = ['id', 'petId', 'quantity', 'shipDate', 'complete', 'status'] as const;

export const CSV_HEAD = COLUMNS.join(',');

/** One row. No field of an order needs quotes: they are numbers, date-times, booleans and words. */
export function printCsvRow(record: OrderRecord): string {
  return COLUMNS.map((column) => record[column] ?? '').join(',');
}

export type CsvRow =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly message: string };

/** Reads rows whose columns a head names, in any order. An empty cell is a field that is absent. */
export function createCsvReader(head: string): ((row: string) => CsvRow) | { readonly message: string } {
  const names = cellsOf(head);
  if (names === undefined) return { message: BAD_QUOTES };
  const known: readonly string[] = COLUMNS;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    return { message: `unknown column ${JSON.stringify(unknown)}; expected some of ${COLUMNS.join(', ')}` };
  }
  if (new Set(names).size < names.length) return { message: 'a column is there twice' };
  return (row) => {
    const cells = cellsOf(row);
    if (cells === undefined) return { ok: false, message: BAD_QUOTES };
    if (cells.length !== names.length) {
      return { ok: false, message: `expected ${names.length} cells, as in the first line, not ${cells.length}` };
    }
    const value: Record<string, unknown> = {};
    for (const [i, name] of names.entries()) if (cells[i]) value[name] = fieldOf(name, cells[i]);
    return { ok: true, value };
  };
}

const BAD_QUOTES = 'invalid CSV: a cell with a quote must begin and end with one on the same line';
const CELL = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;

/** `undefined` for a line that cannot be cut into cells. */
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

/** The cell as its field takes it. Text that does not fit is left for the check of the record to refuse. */
function fieldOf(name: string, cell: string): unknown {
  if (name === 'complete') return cell === 'true' || cell === 'false' ? cell === 'true' : cell;
  if (name === 'shipDate' || name === 'status') return cell;
  return /^(?:0|-?[1-9][0-9]{0,30})$/.test(cell) ? BigInt(cell) : cell;
}
