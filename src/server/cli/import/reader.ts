import { constants, isUtf8 } from 'node:buffer';
import { JsonSyntaxError, parseJson, parseJsonArray } from '../../../orders/json.js';
import { ORDER_FIELDS, type OrderRecord, type ParsedRecord, parseOrderRecord } from '../../../orders/record.js';
import { createCsvReader } from './csv.js';
import type { OrderLines } from './lines.js';
import { PlainJson } from './plain-json.js';

/** A mistake in the orders to import, with its line. */
export class ImportMistake extends Error {
  override readonly name = 'ImportMistake';
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

interface Element {
  readonly line: number;
  readonly value: unknown;
}

/**
 * How many orders a batch has. Each batch is written in one transaction. With this many orders, the
 * transaction costs little for each of them.
 */
const BATCH = 1_000;
const LINE_FEED = 0x0a;
const BRACKET = 0x5b;
/**
 * Matches a blank line, which contains only white space that JSON allows. Other white space is
 * reported as a mistake.
 */
const BLANK = /^[ \t\r]*$/;
const WHITE_SPACE: readonly number[] = [0x20, 0x09, LINE_FEED, 0x0d];
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads orders in batches. The text is CSV whose first line names the columns, a JSON array, or one
 * JSON object per line (NDJSON). A JSON text is an array if it begins with `[`. Blank lines are
 * skipped. Only an array is held in memory as a whole.
 *
 * Throws an {@link ImportMistake} for the first mistake: a byte that is not UTF-8, invalid JSON, an
 * invalid order, or a repeated id. Accepts `pending`, `shipped`, `cancelled` and the `statuses`.
 * The line on which each order begins is added to `lines`.
 */
export async function* readOrders(
  chunks: AsyncIterable<Buffer>,
  format: 'json' | 'csv',
  statuses: readonly string[],
  lines: OrderLines,
): AsyncGenerator<readonly OrderRecord[]> {
  const options = { statuses };
  let records: OrderRecord[] = [];
  for await (const elements of elementsOf(chunks, format)) {
    for (const { line, value } of elements) {
      const parsed = parseOrderRecord(value, options);
      if (!parsed.ok) throw new ImportMistake(line, mistakeIn(parsed));
      const { id } = parsed.record;
      const earlier = lines.add(id, line);
      if (earlier !== undefined) {
        throw new ImportMistake(line, `the id ${id} is already on line ${earlier}`);
      }
      records.push(parsed.record);
      if (records.length < BATCH) continue;
      yield records;
      records = [];
    }
  }
  if (records.length > 0) yield records;
}

function mistakeIn({ field, message }: Extract<ParsedRecord, { ok: false }>): string {
  return `${fieldName(field)} ${message}${field === 'status' ? '; to accept other statuses, use --statuses' : ''}`;
}

/**
 * Escapes the name of an unknown field, because it could contain control sequences of a terminal.
 */
function fieldName(field = 'the record'): string {
  return /^[\w ]+$/.test(field) ? field : JSON.stringify(field);
}

async function* elementsOf(chunks: AsyncIterable<Buffer>, format: 'json' | 'csv'): AsyncGenerator<Iterable<Element>> {
  const blocks = wholeLines(chunks);
  const pieces: Buffer[] = [];
  let firstByte: number | undefined;
  while (firstByte === undefined) {
    const next = await blocks.next();
    if (next.done) throw new ImportMistake(1, format === 'csv' ? NO_HEAD : NO_ORDERS);
    const block = pieces.length === 0 ? withoutMark(next.value) : next.value;
    firstByte = block.find((byte) => !WHITE_SPACE.includes(byte));
    pieces.push(block);
  }
  if (format === 'json' && firstByte === BRACKET) {
    for await (const block of blocks) pieces.push(block);
    yield arrayElements(Buffer.concat(pieces));
    return;
  }
  const readBlock = format === 'csv' ? createRowReader() : readLines;
  let line = 1;
  for (let block: Buffer = Buffer.concat(pieces); ; ) {
    const good = utf8Lines(block);
    const text = good.toString();
    yield readBlock(text, line);
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) line++;
    if (good.length < block.length) throw new ImportMistake(line, NO_UTF8);
    const next = await blocks.next();
    if (next.done) return;
    block = next.value;
  }
}

const NO_ORDERS = 'the file is empty; write [] for an empty list';
const NO_HEAD = `the first line must name the columns, such as ${ORDER_FIELDS.join(',')}`;
const NO_UTF8 = 'the text is not UTF-8';

/**
 * Yields the bytes of the chunks in blocks of whole lines. This never splits a character, because
 * the byte of a line feed is not part of any other UTF-8 character.
 */
async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const head = chunk.subarray(0, chunk.lastIndexOf(LINE_FEED) + 1);
    if (head.length === 0) {
      rest.push(chunk);
      continue;
    }
    yield Buffer.concat([...rest, head]);
    rest = [chunk.subarray(head.length)];
  }
  const last = Buffer.concat(rest);
  if (last.length > 0) yield last;
}

/** Skips the byte order mark that some editors write. RFC 8259 §8.1 allows a reader to skip it. */
function withoutMark(bytes: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK;
  return bytes.subarray(0, length).equals(BYTE_ORDER_MARK) ? bytes.subarray(length) : bytes;
}

/** Returns the lines before the first line that is not UTF-8. */
function utf8Lines(block: Buffer): Buffer {
  if (isUtf8(block)) return block;
  let start = 0;
  for (;;) {
    const end = block.indexOf(LINE_FEED, start) + 1 || block.length;
    if (!isUtf8(block.subarray(start, end))) return block.subarray(0, start);
    start = end;
  }
}

/** Reads the lines of a text. `from` is the number of the first line. */
type BlockReader = (text: string, from: number) => Iterable<Element>;

function* readLines(text: string, from: number): Generator<Element> {
  const plain = new PlainJson(text);
  let line = from;
  for (let start = 0; start < text.length; line++) {
    const end = endOfLine(text, start);
    const value = plain.read(start, end) ?? parseLine(text.slice(start, end), line);
    if (value !== undefined) yield { line, value };
    start = end + 1;
  }
}

/** Returns `undefined` for a blank line. */
function parseLine(text: string, line: number): unknown {
  if (BLANK.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch (error) {
    throw mistakeOf(error, line);
  }
}

/**
 * Creates a reader of CSV. Call it with each block of the file in turn. It takes the names of the
 * columns from the first row of the first block.
 */
function createRowReader(): BlockReader {
  let readRow: Exclude<ReturnType<typeof createCsvReader>, { message: string }> | undefined;
  return function* (text, from) {
    let line = from;
    for (let start = 0; start < text.length; line++) {
      const end = endOfLine(text, start);
      const row = text.slice(start, text[end - 1] === '\r' ? end - 1 : end);
      start = end + 1;
      if (readRow === undefined) {
        const created = createCsvReader(row);
        if (typeof created !== 'function') throw new ImportMistake(line, created.message);
        readRow = created;
      } else if (!BLANK.test(row)) {
        const read = readRow(row);
        if (!read.ok) throw new ImportMistake(line, read.message);
        yield { line, value: read.value };
      }
    }
  };
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
}

function* arrayElements(bytes: Buffer): Generator<Element> {
  if (bytes.length > constants.MAX_STRING_LENGTH) {
    throw new ImportMistake(1, 'the array is too large; write one object per line instead');
  }
  const good = utf8Lines(bytes);
  if (good.length < bytes.length) throw new ImportMistake(good.toString().split('\n').length, NO_UTF8);
  try {
    yield* parseJsonArray(bytes.toString());
  } catch (error) {
    throw mistakeOf(error);
  }
}

/**
 * Converts a JSON syntax error to an {@link ImportMistake}. Without `line`, the line comes from the
 * error. Returns any other error unchanged.
 */
function mistakeOf(error: unknown, line?: number): unknown {
  if (!(error instanceof JsonSyntaxError)) return error;
  return new ImportMistake(line ?? error.line, `invalid JSON, column ${error.column}: ${error.reason}`);
}
