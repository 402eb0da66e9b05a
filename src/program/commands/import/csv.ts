import { FIELDS, isFieldName } from '../../../orders/fields.js';
import { ORDER_FIELDS, type OrderRecord } from '../../../orders/record.js';
import { ImportMistake } from './lines.js';

/** The first line of an exported CSV file (RFC 4180). */
export const CSV_HEAD = ORDER_FIELDS.join(',');

/** Serialises one row. No field needs quotes: all are numbers, date-times, booleans or words. */
export function serializeCsvRow(record: OrderRecord): string {
  return ORDER_FIELDS.map((column) => record[column] ?? '').join(',');
}

/**
 * Creates a function that reads one line per call. It returns `undefined` for the first line, which
 * names the columns in any order. An empty cell is an absent field. Throws an
 * {@link ImportMistake}.
 */
export function createCsvReader(): (text: string, line: number) => Readonly<Record<string, unknown>> | undefined {
  let columns: readonly string[] | undefined;
  return (text, line) => {
    const cells = cellsOf(text.endsWith('\r') ? text.slice(0, -1) : text, line);
    if (columns === undefined) {
      checkColumns(cells, line);
      columns = cells;
      return undefined;
    }
    if (cells.length !== columns.length) {
      throw new ImportMistake(line, `expected ${columns.length} cells as in the first line, but found ${cells.length}`);
    }
    const value: Record<string, unknown> = {};
    for (const [i, column] of columns.entries()) if (cells[i]) value[column] = fieldOf(column, cells[i]);
    return value;
  };
}

function checkColumns(names: readonly string[], line: number): void {
  const known: readonly string[] = ORDER_FIELDS;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const message = `unknown column ${JSON.stringify(unknown)}; the known columns are ${ORDER_FIELDS.join(', ')}`;
    throw new ImportMistake(line, message);
  }
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new ImportMistake(line, `the column ${JSON.stringify(twice)} appears twice`);
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

/** Converts a cell to the type of its field, if possible. `parseOrderRecord` refuses the others. */
function fieldOf(name: string, cell: string): unknown {
  const type = isFieldName(name) ? FIELDS[name].type : undefined;
  if (type?.sqlType === 'boolean' && /^(?:true|false)$/.test(cell)) return cell === 'true';
  if (type?.sqlType === 'bigint' && /^(?:0|-?[1-9][0-9]*)$/.test(cell)) return BigInt(cell);
  return cell;
}
