import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { writeText } from '../log/write-text.js';

/** The part of a terminal that is used. */
export interface TerminalStream {
  readonly isTTY?: boolean | undefined;
  /** Node's own, which heeds NO_COLOR, FORCE_COLOR and TERM. */
  hasColors?(): boolean;
  write(text: string): unknown;
}

export type Style = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

/** The text in a style, on a terminal with colours. */
export function paint(stream: TerminalStream, style: Style, text: string): string {
  return stream.isTTY && stream.hasColors?.() ? styleText(style, text) : text;
}

/** One column. A number is aligned to the right. */
export interface Column {
  readonly title: string;
  readonly isNumber?: true;
  /** How a cell is painted. */
  readonly style?: (cell: string) => Style | undefined;
}

/**
 * Creates a table that is printed piece by piece. Each call returns the lines of some rows, the first
 * call those of the head too. The columns are as wide as the first rows need.
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

  return (rows) => {
    const body = () => rows.map((cells) => line(cells, ({ style }, cell) => style?.(cell)));
    if (widths !== undefined) return body();
    const titles = columns.map(({ title }) => title);
    widths = titles.map((title, i) =>
      rows.reduce((width, cells) => Math.max(width, cells[i]?.length ?? 0), title.length),
    );
    return [line(titles, () => 'bold'), ...body()];
  };
}

/** Another screen, as `top` has it, without a cursor and without the wrapping of long lines (xterm, DEC private modes). */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_TO_END = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

/**
 * Lends a function that draws lines over those before, on a screen of its own. It resolves to `false`
 * when the terminal is gone. Afterwards the terminal shows again what it had shown.
 */
export async function onOwnScreen(
  stream: Writable,
  work: (draw: (lines: readonly string[]) => Promise<boolean>) => Promise<void>,
): Promise<void> {
  await writeText(stream, ENTER);
  try {
    await work((lines) => writeText(stream, `${HOME}${lines.join(`${CLEAR_TO_END}\n`)}${CLEAR_TO_END}${CLEAR_BELOW}`));
  } finally {
    await writeText(stream, LEAVE);
  }
}

const WIDTH = 30;

/** A bar that is drawn again where it stands; on anything but a terminal nothing at all. */
export function createProgressBar(stream: TerminalStream, title: string) {
  let drawn = '';
  return {
    /** The part that is done, 0 to 1. */
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
