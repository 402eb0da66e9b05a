import { constants, isUtf8 } from 'node:buffer';
import { JsonSyntaxError, parseJson, parseJsonArray } from '../../../orders/json.js';
import { type OrderRecord, type ParsedRecord, parseOrderRecord } from '../../../orders/record.js';
import { createCsvReader } from './csv.js';
import type { OrderLines } from './lines.js';
import { createQuoteCounter, parsePlain } from './plain-json.js';

/** A mistake in the orders to import, with its line. */
export class ImportMistake extends Error {
  override readonly name = 'ImportMistake';
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

type Element =
  | { readonly ok: true; readonly line: number; readonly value: unknown }
  | { readonly ok: false; readonly line: number; readonly message: string };

const BATCH = 250;
const LINE_FEED = 0x0a;
const BRACKET = 0x5b;
/** White space as JSON defines it. Any other character is reported as a mistake. */
const BLANK = /^[ \t\r]*$/;
const WHITE_SPACE: readonly number[] = [0x20, 0x09, LINE_FEED, 0x0d];
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads orders in batches: from CSV whose first line names the columns, from a JSON array if `[` is
 * the first character, or from one JSON object per line (NDJSON). Blank lines are skipped. Throws
 * an {@link ImportMistake} for the first mistake: a byte that is not UTF-8, invalid JSON, an
 * invalid order, or a repeated id. `statuses` are accepted in addition to those of the program.
 * `lines` records the line on which each order begins. Only an array is held in memory as a whole.
 */
export async function* readOrders(
  chunks: AsyncIterable<Buffer>,
  format: 'json' | 'csv',
  statuses: readonly string[],
  lines: OrderLines,
): AsyncGenerator<readonly OrderRecord[]> {
  let records: OrderRecord[] = [];
  for await (const elements of elementsOf(chunks, format)) {
    for (const element of elements) {
      const { line } = element;
      if (!element.ok) throw new ImportMistake(line, element.message);
      const parsed = parseOrderRecord(element.value, { statuses });
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

/** Escapes the name of an unknown field, which may contain a terminal's control sequences. */
function fieldName(field = 'the record'): string {
  return /^[\w ]+$/.test(field) ? field : JSON.stringify(field);
}

async function* elementsOf(chunks: AsyncIterable<Buffer>, format: 'json' | 'csv'): AsyncGenerator<Iterable<Element>> {
  const blocks = wholeLines(chunks);
  const first = await blocks.next();
  const start = withoutMark(first.done ? Buffer.alloc(0) : first.value);
  const firstByte = start.find((byte) => !WHITE_SPACE.includes(byte));
  if (firstByte === undefined) {
    yield [{ ok: false, line: 1, message: format === 'csv' ? NO_HEAD : NO_ORDERS }];
    return;
  }
  if (format === 'json' && firstByte === BRACKET) {
    const pieces = [start];
    for await (const block of blocks) pieces.push(block);
    yield arrayElements(Buffer.concat(pieces));
    return;
  }
  const readLine = createLineReader(format);
  let texts = textsOf(start);
  yield lineElements(texts, 1, readLine(start));
  let line = texts.length;
  for await (const block of blocks) {
    texts = textsOf(block);
    yield lineElements(texts, line, readLine(block));
    line += texts.length - 1;
  }
}

const NO_ORDERS = 'the file is empty; write [] for an empty list';
const NO_HEAD = 'the first line must name the columns, such as id,petId,quantity,shipDate,complete,status';
const NO_UTF8 = 'the text is not UTF-8';

/**
 * Joins and splits the chunks into blocks that end with a line feed. A line feed is never part of
 * another UTF-8 character. The first block contains something other than white space.
 */
async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let isBlank = true;
  for await (const chunk of chunks) {
    const head = chunk.subarray(0, chunk.lastIndexOf(LINE_FEED) + 1);
    isBlank &&= head.every((byte) => WHITE_SPACE.includes(byte));
    if (isBlank || head.length === 0) {
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

/**
 * Splits a block into lines. The last line is the text after the last line feed. A line that is not
 * UTF-8 is `undefined`.
 */
function textsOf(block: Buffer): readonly (string | undefined)[] {
  if (isUtf8(block)) return block.toString().split('\n');
  const lines = block.toString('latin1').split('\n');
  return lines.map((line) => Buffer.from(line, 'latin1')).map((line) => (isUtf8(line) ? line.toString() : undefined));
}

type LineReader = (text: string | undefined, line: number) => Element | undefined;

function* lineElements(texts: readonly (string | undefined)[], from: number, read: LineReader): Generator<Element> {
  let line = from;
  for (const text of texts) {
    const element = read(text, line++);
    if (element !== undefined) yield element;
  }
}

/** Creates a function that returns a reader for the lines of the next block. */
function createLineReader(format: 'json' | 'csv'): (block: Buffer) => LineReader {
  if (format === 'json') {
    return (block) => {
      const countQuotes = createQuoteCounter(block);
      return (text, line) => {
        const quotes = countQuotes();
        if (text === undefined) return { ok: false, line, message: NO_UTF8 };
        return BLANK.test(text) ? undefined : parseLine(text, line, quotes);
      };
    };
  }
  let readRow: Exclude<ReturnType<typeof createCsvReader>, { message: string }> | undefined;
  return () => (text, line) => {
    if (text === undefined) return { ok: false, line, message: NO_UTF8 };
    const row = text.replace(/\r$/, '');
    if (readRow !== undefined) return BLANK.test(row) ? undefined : { ...readRow(row), line };
    const created = createCsvReader(row);
    if (typeof created !== 'function') return { ok: false, line, message: created.message };
    readRow = created;
    return undefined;
  };
}

function parseLine(text: string, line: number, quotes: number): Element {
  try {
    return { ok: true, line, value: parsePlain(text, quotes) ?? parseJson(text) };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return invalidJson(error, line);
  }
}

function arrayElements(bytes: Buffer): Iterable<Element> {
  if (bytes.length > constants.MAX_STRING_LENGTH) {
    return [{ ok: false, line: 1, message: 'the array is too large; write one object per line instead' }];
  }
  if (isUtf8(bytes)) return parseArray(bytes.toString());
  return [{ ok: false, line: textsOf(bytes).indexOf(undefined) + 1, message: NO_UTF8 }];
}

function* parseArray(text: string): Generator<Element> {
  try {
    for (const { line, value } of parseJsonArray(text)) yield { ok: true, line, value };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    yield invalidJson(error, error.line);
  }
}

function invalidJson({ reason, column }: JsonSyntaxError, line: number): Element {
  return { ok: false, line, message: `invalid JSON, column ${column}: ${reason}` };
}
