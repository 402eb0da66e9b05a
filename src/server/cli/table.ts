import { printable } from '../log/printable.js';

/** One column of a table. Numbers are aligned to the right. */
export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
}

/**
 * Creates a function that formats the rows of a table, some rows per call. The first call also
 * returns the line of titles. The rows of that call determine the widths of the columns. Control
 * characters in cells are escaped.
 */
export function createTable(columns: readonly Column[]): (rows: readonly (readonly string[])[]) => string[] {
  let widths: readonly number[] | undefined;

  function line(cells: readonly string[]): string {
    const padded = columns.map(({ isNumber }, i) => {
      const [cell = '', width = 0] = [cells[i], widths?.[i]];
      return isNumber ? cell.padStart(width) : cell.padEnd(width);
    });
    return padded.join('  ').trimEnd();
  }

  return (given) => {
    const rows = given.map((cells) => cells.map(printable));
    if (widths !== undefined) return rows.map(line);
    const all = [columns.map(({ title }) => title), ...rows];
    widths = columns.map((_, i) => all.reduce((width, cells) => Math.max(width, cells[i]?.length ?? 0), 0));
    return all.map(line);
  };
}
