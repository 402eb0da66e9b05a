import { constants } from 'node:buffer';
import type { OrderId } from '../../orders/index.js';
import { parseJson, parseJsonArray } from '../../orders/json.js';
import { type OrderRecord, parseOrderRecord } from '../../orders/record.js';

export type ReadOrders =
  | {
      readonly ok: true;
      readonly records: readonly OrderRecord[];
      /** The line on which each begins. */
      readonly lines: ReadonlyMap<OrderId, number>;
    }
  | { readonly ok: false; readonly line: number; readonly message: string };

type Element =
  | { readonly ok: true; readonly line: number; readonly value: unknown }
  | { readonly ok: false; readonly line: number; readonly message: string };

const PROGRESS_LINES = 1_000;
const LINE_FEED = 0x0a;
const BRACKET = 0x5b;
const WHITE_SPACE: readonly (number | undefined)[] = [0x20, 0x09, LINE_FEED, 0x0d];
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Reads orders from a JSON array, if `[` is the first character, or else from one JSON object a line (NDJSON, empty
 * lines skipped). Strict: the first byte that is no UTF-8, text that is no JSON, record that is no order, or id that
 * comes twice is a mistake, named by its line. `onProgress` is told the part that is done, 0 to 1.
 */
export function readOrders(bytes: Buffer, onProgress: (part: number) => void = () => {}): ReadOrders {
  const records: OrderRecord[] = [];
  const lines = new Map<OrderId, number>();
  for (const element of elementsOf(bytes, onProgress)) {
    const { line } = element;
    if (!element.ok) return element;
    const parsed = parseOrderRecord(element.value);
    if (!parsed.ok) return { ok: false, line, message: `${fieldName(parsed.field)} ${parsed.message}` };
    const { id } = parsed.record;
    const earlier = lines.get(id);
    if (earlier !== undefined) return { ok: false, line, message: `id ${id} comes twice, at first on line ${earlier}` };
    lines.set(id, line);
    records.push(parsed.record);
  }
  return { ok: true, records, lines };
}

/** An unknown field's name may be anything, a terminal's control sequence too. */
function fieldName(field = 'the record'): string {
  return /^[\w ]+$/.test(field) ? field : JSON.stringify(field);
}

function elementsOf(bytes: Buffer, onProgress: (part: number) => void): Iterable<Element> {
  // A mark that some editors write; RFC 8259 §8.1 lets a reader skip it.
  const start = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  let at = start;
  while (WHITE_SPACE.includes(bytes[at])) at++;
  if (at === bytes.length) return [{ ok: false, line: 1, message: 'there is no order; an empty list is written []' }];
  const text = bytes.subarray(start);
  return bytes[at] === BRACKET ? arrayElements(text) : lineElements(text, onProgress);
}

function* lineElements(bytes: Buffer, onProgress: (part: number) => void): Generator<Element> {
  for (const { line, bytes: lineBytes, end } of linesOf(bytes)) {
    if (line % PROGRESS_LINES === 0) onProgress(end / bytes.length);
    const text = decode(lineBytes);
    if (text === undefined) yield { ok: false, line, message: NO_UTF8 };
    else if (text.trim() !== '') yield parseLine(text, line);
  }
}

function parseLine(text: string, line: number): Element {
  try {
    return { ok: true, line, value: parseJson(text) };
  } catch (error) {
    const { message, column } = jsonMistake(error);
    return { ok: false, line, message: `no JSON, ${message}, column ${column}` };
  }
}

function arrayElements(bytes: Buffer): Iterable<Element> {
  if (bytes.length > constants.MAX_STRING_LENGTH) {
    return [{ ok: false, line: 1, message: 'the array is too large; write one object a line instead' }];
  }
  const decoded: string[] = [];
  for (const { line, bytes: lineBytes } of linesOf(bytes)) {
    const text = decode(lineBytes);
    if (text === undefined) return [{ ok: false, line, message: NO_UTF8 }];
    decoded.push(text);
  }
  return parseArray(decoded.join('\n'));
}

function* parseArray(text: string): Generator<Element> {
  try {
    for (const { line, value } of parseJsonArray(text)) yield { ok: true, line, value };
  } catch (error) {
    const { message, line, column } = jsonMistake(error);
    yield { ok: false, line, message: `no JSON, ${message}, column ${column}` };
  }
}

/** A line feed is part of no other character, so bytes can be cut at it before they are decoded. */
function* linesOf(bytes: Buffer) {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const found = bytes.indexOf(LINE_FEED, start);
    const end = found === -1 ? bytes.length : found;
    yield { line, bytes: bytes.subarray(start, end), end };
    start = end + 1;
  }
}

const NO_UTF8 = 'the text is not UTF-8';
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** What the JSON reader says: `what, line 3 column 7`. Anything else that it throws is no mistake in the file. */
function jsonMistake(error: unknown) {
  const match = error instanceof SyntaxError && /^(.*), line (\d+) column (\d+)$/s.exec(error.message);
  if (!match) throw error;
  return { message: match[1] ?? '', line: Number(match[2]), column: Number(match[3]) };
}
