import { isUtf8 } from 'node:buffer';

/** Why no order is stored: a mistake on a line of the input, or a signal that ended the import. */
export class ImportMistake extends Error {
  override readonly name = 'ImportMistake';
  readonly line: number | undefined;

  constructor(line: number | undefined, message: string) {
    super(message);
    this.line = line;
  }
}

export interface Line {
  readonly text: string;
  /** The number of the line, starting with 1. */
  readonly line: number;
}

const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = '\ufeff';

/**
 * Yields the lines of a UTF-8 text, without their line feeds, in groups. Skips a byte order mark,
 * which some editors write (RFC 8259 §8.1). Throws an {@link ImportMistake} at the first line that
 * is not UTF-8.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Iterable<Line>> {
  let next = 1;

  function* linesIn(block: Buffer): Generator<Line> {
    const isBlockUtf8 = isUtf8(block);
    for (const part of block.toString(isBlockUtf8 ? 'utf8' : 'latin1').split('\n')) {
      const line = next++;
      const bytes = isBlockUtf8 ? undefined : Buffer.from(part, 'latin1');
      if (bytes !== undefined && !isUtf8(bytes)) throw new ImportMistake(line, 'the text is not UTF-8');
      const text = bytes?.toString() ?? part;
      yield { line, text: line === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text };
    }
  }

  // The bytes after the last line feed. A block of whole lines never ends within a character,
  // because the byte of a line feed is not part of any other UTF-8 character.
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end < 0) {
      rest.push(chunk);
      continue;
    }
    yield linesIn(Buffer.concat([...rest, chunk.subarray(0, end)]));
    rest = [chunk.subarray(end + 1)];
  }
  yield linesIn(Buffer.concat(rest));
}
