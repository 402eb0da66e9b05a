import { constants } from 'node:buffer';
import { ORDER_STATUSES } from '../../../orders/cancellation.js';
import { JsonSyntaxError, parseJson, parseJsonArray } from '../../../orders/exact-json.js';
import { parseOrderRecord } from '../../../orders/index.js';
import type { ImportedRecord } from '../../../orders/sqlite/engine.js';
import { CSV_HEAD, createCsvReader } from './csv.js';
import { ImportMistake, linesOf } from './lines.js';

/** The number of elements of a JSON array in a batch. */
const BATCH_SIZE = 1_000;
/** Matches a blank line. White space that JSON does not allow is reported as a mistake. */
const BLANK = /^[ \t\r]*$/;
const BEGINS_ARRAY = /^[ \t\r]*\[/;
const BYTE_ORDER_MARK = /^\ufeff/;
/** Stands in a decoded text for bytes that are not UTF-8. No valid order contains it. */
const NOT_UTF8 = '\ufffd';

/**
 * Reads orders in batches. The text is CSV whose first line names the columns, a JSON array, or one
 * JSON object per line (NDJSON). A JSON text is an array if it begins with `[`. Skips blank lines,
 * and a byte order mark, which some editors write (RFC 8259 §8.1). Only an array is held in memory
 * as a whole.
 *
 * Throws an {@link ImportMistake} for the first mistake: a byte that is not UTF-8, invalid JSON or
 * an invalid order. Accepts `pending`, `shipped`, `cancelled` and the `statuses`.
 */
export async function* readOrders(
  chunks: AsyncIterable<string>,
  format: 'json' | 'csv',
  statuses: readonly string[],
): AsyncGenerator<readonly ImportedRecord[]> {
  const knownStatuses = [...ORDER_STATUSES, ...statuses];
  const readLine = format === 'csv' ? createCsvReader() : readJsonLine;
  let line = 0;
  let first: number | undefined;
  let arrayLines: string[] | undefined;
  for await (const lines of linesOf(chunks)) {
    const batch: ImportedRecord[] = [];
    for (const given of lines) {
      line++;
      const text = line === 1 ? given.replace(BYTE_ORDER_MARK, '') : given;
      if (text.includes(NOT_UTF8)) throw new ImportMistake(line, 'the text is not UTF-8');
      if (arrayLines === undefined && BLANK.test(text)) continue;
      if (first === undefined && format === 'json' && BEGINS_ARRAY.test(text)) arrayLines = [];
      first ??= line;
      if (arrayLines !== undefined) arrayLines.push(text);
      else {
        const value = readLine(text, line);
        if (value !== undefined) batch.push(toImported(value, line, knownStatuses));
      }
    }
    yield batch;
  }
  if (first === undefined) throw new ImportMistake(1, format === 'csv' ? NO_COLUMNS : NO_ORDERS);
  if (arrayLines !== undefined) yield* readArray(arrayLines, first, knownStatuses);
}

function toImported(value: unknown, line: number, statuses: readonly string[]): ImportedRecord {
  const given = parseOrderRecord(value, statuses);
  // Most files need no such reading, so it is tried only after a mistake.
  const parsed = 'mistake' in given ? parseOrderRecord(asMeant(value), statuses) : given;
  if (!('mistake' in parsed)) return { record: parsed, line };
  const { field, mistake } = parsed;
  // The name of an unknown field can be any text.
  const name = /^[\w ]+$/.test(field) ? field : JSON.stringify(field);
  const advice = field === 'status' ? '; to accept other statuses, use --statuses' : '';
  throw new ImportMistake(line, `${name} ${mistake}${advice}`);
}

/**
 * Returns the value with what other programs write, and what has only one meaning, as an order has it:
 * `null` is an absent field. In a date-time, `+0000` of Java is `+00:00`, and a space, which pandas
 * and SQL write, is `T`.
 */
function asMeant(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { shipDate, ...fields } = Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
  if (typeof shipDate !== 'string') return { ...fields, shipDate };
  const written = shipDate.replace(/^([0-9-]{10}) /, '$1T').replace(/([+-][0-9]{2})([0-9]{2})$/, '$1:$2');
  return { ...fields, shipDate: written };
}

const NO_ORDERS = 'the file is empty; write [] for an empty list';
const NO_COLUMNS = `the first line must name the columns, such as ${CSV_HEAD}`;

/**
 * Matches an object with a member that a double might not hold exactly: an integer of more than 15
 * digits, a number with a fraction or an exponent, or -0.
 */
const INEXACT = /[0-9]{16}|"[ \t\r]*:[ \t\r]*(?:-0|-?[0-9]+[.eE])/;
/** Matches the end of a name. If a string such as `":"` also matches, reading is only slower. */
const NAME_END = /"[ \t\r]*:/g;

/**
 * Reads a line with `JSON.parse` if that is exact, because `parseJson` takes five times as long.
 * `parseJson` also reports the mistake if a line is invalid or a name comes twice.
 */
function readJsonLine(text: string, line: number): unknown {
  if (!INEXACT.test(text)) {
    try {
      const value: unknown = JSON.parse(text);
      if (Object.keys(Object(value)).length === text.match(NAME_END)?.length) return value;
    } catch {}
  }
  try {
    return parseJson(text);
  } catch (error) {
    throw mistakeOf(error, line);
  }
}

/** Reads a JSON array, whose text begins on the line `first`. */
function* readArray(
  lines: readonly string[],
  first: number,
  statuses: readonly string[],
): Generator<readonly ImportedRecord[]> {
  if (lines.reduce((length, line) => length + line.length + 1, 0) > constants.MAX_STRING_LENGTH) {
    throw new ImportMistake(first, 'the array is too large; write one object per line instead');
  }
  let batch: ImportedRecord[] = [];
  try {
    for (const { line, value } of parseJsonArray(lines.join('\n'))) {
      batch.push(toImported(value, first - 1 + line, statuses));
      if (batch.length < BATCH_SIZE) continue;
      yield batch;
      batch = [];
    }
  } catch (error) {
    throw error instanceof JsonSyntaxError ? mistakeOf(error, first - 1 + error.line) : error;
  }
  yield batch;
}

/** Converts a JSON syntax error on this line to an {@link ImportMistake}. Keeps other errors. */
function mistakeOf(error: unknown, line: number): unknown {
  if (!(error instanceof JsonSyntaxError)) return error;
  return new ImportMistake(line, `invalid JSON, column ${error.column}: ${error.reason}`);
}
