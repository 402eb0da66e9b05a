import { constants } from 'node:buffer';
import type { OrderId } from '../../orders/index.js';
import { JsonSyntaxError, parseJson, parseJsonArray } from '../../orders/json.js';
import { type OrderRecord, type ParsedRecord, parseOrderRecord } from '../../orders/record.js';
import { createCsvReader } from './order-csv.js';

export type ReadOrders =
  | {
      readonly ok: true;
      readonly records: readonly OrderRecord[];
      /** The first line of each order. */
      readonly lines: ReadonlyMap<OrderId, number>;
    }
  | { readonly ok: false; readonly line: number; readonly message: string };

type Element =
  | { readonly ok: true; readonly line: number; readonly value: unknown }
  | { readonly ok: false; readonly line: number; readonly message: string };

const PROGRESS_LINES = 1_000;
const LINE_FEED = 0x0a;
const BRACKET = 0x5b;
/** White space as JSON defines it. Any other character is reported as a mistake. */
const BLANK = /^[ \t\r]*$/;
const WHITE_SPACE: readonly (number | undefined)[] = [0x20, 0x09, LINE_FEED, 0x0d];
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads orders from CSV, whose first line names the columns, or from JSON: an array if the first
 * character is `[`, else one object per line (NDJSON). Skips blank lines. Stops at the first
 * mistake and names its line: a byte that is not UTF-8, invalid JSON, an invalid order, a repeated
 * id. Accepts the `statuses` of the host too. Calls `onProgress` with the part that is read, 0 to
 * 1.
 */
export function readOrders(
  bytes: Buffer,
  format: 'json' | 'csv',
  statuses: readonly string[],
  onProgress: (part: number) => void = () => {},
): ReadOrders {
  const records: OrderRecord[] = [];
  const lines = new Map<OrderId, number>();
  for (const element of elementsOf(bytes, format, onProgress)) {
    const { line } = element;
    if (!element.ok) return element;
    const parsed = parseOrderRecord(element.value, { statuses });
    if (!parsed.ok) return { ok: false, line, message: mistakeIn(parsed) };
    const { id } = parsed.record;
    const earlier = lines.get(id);
    if (earlier !== undefined) return { ok: false, line, message: `the id ${id} is already on line ${earlier}` };
    lines.set(id, line);
    records.push(parsed.record);
  }
  return { ok: true, records, lines };
}

function mistakeIn({ field, message }: Extract<ParsedRecord, { ok: false }>): string {
  return `${fieldName(field)} ${message}${field === 'status' ? '; to accept other statuses, use --statuses' : ''}`;
}

/** Escapes the name of an unknown field, which may contain a terminal's control sequences. */
function fieldName(field = 'the record'): string {
  return /^[\w ]+$/.test(field) ? field : JSON.stringify(field);
}

function elementsOf(bytes: Buffer, format: 'json' | 'csv', onProgress: (part: number) => void): Iterable<Element> {
  // Some editors write this mark. RFC 8259 §8.1 lets a reader skip it.
  const start = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  let at = start;
  while (WHITE_SPACE.includes(bytes[at])) at++;
  if (at === bytes.length) return [{ ok: false, line: 1, message: format === 'csv' ? NO_HEAD : NO_ORDERS }];
  const text = bytes.subarray(start);
  if (format === 'csv') return csvElements(text, onProgress);
  return bytes[at] === BRACKET ? arrayElements(text) : lineElements(text, onProgress);
}

const NO_ORDERS = 'the file is empty; write [] for an empty list';
const NO_HEAD = 'the first line must name the columns, such as id,petId,quantity,shipDate,complete,status';

function* csvElements(bytes: Buffer, onProgress: (part: number) => void): Generator<Element> {
  let read: Exclude<ReturnType<typeof createCsvReader>, { message: string }> | undefined;
  for (const { line, text } of linesOf(bytes, onProgress)) {
    const row = text?.replace(/\r$/, '');
    if (row === undefined) yield { ok: false, line, message: NO_UTF8 };
    else if (read !== undefined && !BLANK.test(row)) yield { ...read(row), line };
    else if (read === undefined) {
      const created = createCsvReader(row);
      if (typeof created === 'function') read = created;
      else yield { ok: false, line, message: created.message };
    }
  }
}

function* lineElements(bytes: Buffer, onProgress: (part: number) => void): Generator<Element> {
  for (const { line, text } of linesOf(bytes, onProgress)) {
    if (text === undefined) yield { ok: false, line, message: NO_UTF8 };
    else if (!BLANK.test(text)) yield parseLine(text, line);
  }
}

function parseLine(text: string, line: number): Element {
  try {
    return { ok: true, line, value: parseJson(text) };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return invalidJson(error, line);
  }
}

function arrayElements(bytes: Buffer): Iterable<Element> {
  if (bytes.length > constants.MAX_STRING_LENGTH) {
    return [{ ok: false, line: 1, message: 'the array is too large; write one object per line instead' }];
  }
  const decoded: string[] = [];
  for (const { line, text } of linesOf(bytes)) {
    if (text === undefined) return [{ ok: false, line, message: NO_UTF8 }];
    decoded.push(text);
  }
  return parseArray(decoded.join('\n'));
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
  return { ok: false, line, message: `invalid JSON: ${reason}, column ${column}` };
}

/** Splits bytes at line feeds before decoding, because no other character contains that byte. */
function* linesOf(bytes: Buffer, onProgress: (part: number) => void = () => {}) {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const found = bytes.indexOf(LINE_FEED, start);
    const end = found === -1 ? bytes.length : found;
    if (line % PROGRESS_LINES === 0) onProgress(end / bytes.length);
    yield { line, text: decode(bytes.subarray(start, end)) };
    start = end + 1;
  }
}

const NO_UTF8 = 'the text is not UTF-8';
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns `undefined` for bytes that are not UTF-8. */
function decode(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
