import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';

/** Styles a text for a terminal, unless the user has set `NO_COLOR` (no-color.org). */
export function styled(format: 'bold' | 'red', text: string, { isTTY }: Pick<WriteStream, 'isTTY'>): string {
  return isTTY && !process.env['NO_COLOR'] ? styleText(format, text) : text;
}
