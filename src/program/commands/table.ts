import { printable } from '../printable.js';

/**
 * Creates a function that formats the next rows of a table. The first call also returns the titles,
 * and its rows determine the widths of the columns. The columns in `numeric` are aligned to the
 * right. Control characters in cells are escaped.
 */
export function createTable(
  titles: readonly string[],
  numeric: readonly string[] = [],
): (rows: readonly (readonly string[])[]) => string[] {
  let widths: readonly number[] | undefined;

  function formatRow(cells: readonly string[]): string {
    const padded = titles.map((title, i) => {
      const [cell = '', width = 0] = [cells[i], widths?.[i]];
      return numeric.includes(title) ? cell.padStart(width) : cell.padEnd(width);
    });
    return padded.join('  ').trimEnd();
  }

  return (given) => {
    const rows = given.map((cells) => cells.map(printable));
    if (widths !== undefined) return rows.map(formatRow);
    const all = [titles, ...rows];
    widths = titles.map((_, i) => all.reduce((width, cells) => Math.max(width, cells[i]?.length ?? 0), 0));
    return all.map(formatRow);
  };
}
