import { styleText } from 'node:util';
import { printable } from '../log/printable.js';

/** The members of a terminal stream that the program uses. */
export interface TerminalStream {
  readonly isTTY?: boolean | undefined;
  /**
   * Returns whether the terminal shows colours. Node.js respects NO_COLOR, FORCE_COLOR and TERM.
   */
  hasColors?(): boolean;
  write(text: string): unknown;
}

export type Style = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

/** Styles the text if the stream is a terminal with colours. Otherwise returns it unchanged. */
export function paint(stream: TerminalStream, style: Style, text: string): string {
  return stream.isTTY && stream.hasColors?.() ? styleText(style, text) : text;
}

/** Describes one column. Numbers are aligned to the right. */
export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
  /** Chooses the style of a cell. */
  readonly style?: (cell: string) => Style | undefined;
}

/**
 * Creates a function that formats the rows of a table, some rows per call. The first call also
 * returns the line of titles. The rows of that call determine the widths of the columns. Control
 * characters in cells are escaped.
 */
export function createTable(
  stream: TerminalStream,
  columns: readonly Column[],
): (rows: readonly (readonly string[])[]) => string[] {
  let widths: readonly number[] | undefined;

  function line(cells: readonly string[], styleOf: (column: Column, cell: string) => Style | undefined): string {
    const padded = columns.map((column, i) => {
      const [cell = '', width = 0] = [cells[i], widths?.[i]];
      const text = column.isNumber ? cell.padStart(width) : i === columns.length - 1 ? cell : cell.padEnd(width);
      const style = styleOf(column, cell);
      return style === undefined ? text : paint(stream, style, text);
    });
    return padded.join('  ').trimEnd();
  }

  return (given) => {
    const rows = given.map((cells) => cells.map(printable));
    const body = () => rows.map((cells) => line(cells, ({ style }, cell) => style?.(cell)));
    if (widths !== undefined) return body();
    const titles = columns.map(({ title }) => title);
    widths = titles.map((title, i) =>
      rows.reduce((width, cells) => Math.max(width, cells[i]?.length ?? 0), title.length),
    );
    return [line(titles, () => 'bold'), ...body()];
  };
}

const WIDTH = 30;

/** Creates a progress bar. It writes nothing unless the stream is a terminal. */
export function createProgressBar(stream: TerminalStream, title: string) {
  let drawn = '';
  return {
    /** Draws the bar. `part` is the completed fraction, from 0 to 1. */
    show(part: number): void {
      const full = Math.round(part * WIDTH);
      const bar = `${title} [${'='.repeat(full)}${' '.repeat(WIDTH - full)}] ${Math.round(part * 100)} %`;
      if (!stream.isTTY || bar === drawn) return;
      drawn = bar;
      stream.write(`\r${bar}`);
    },
    clear(): void {
      if (drawn !== '') stream.write(`\r${' '.repeat(drawn.length)}\r`);
    },
  };
}
