import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { OrderRecord } from 'store-orders';
import { ORDER_STATUSES } from 'store-orders/cancellation';
import { JsonSyntaxError, parseJson, serializeRecord } from '../../../src/orders/json.js';
import { parseOrderRecord } from '../../../src/orders/record.js';
import { CSV_HEAD, serializeCsvRow } from '../../../src/server/cli/import/csv.js';
import { ImportMistake } from '../../../src/server/cli/import/lines.js';
import { readOrders } from '../../../src/server/cli/import/reader.js';
import { IN_MEMORY, openSqliteStorage, type SqliteStorage } from '../../../src/server/storage/sqlite.js';
import { int64, orderRecord, orderRecords } from '../../orders/support/order-arbitrary.js';
import { sampledRuns } from '../../support/sampled.js';

/**
 * A way to write orders as text. `head` precedes the orders, and `print` returns the line of one
 * order.
 */
interface Notation {
  readonly format: 'json' | 'csv';
  readonly head: string;
  print(record: OrderRecord): string;
}

const spaced = (record: OrderRecord) =>
  `{ ${Object.entries(record)
    .reverse()
    .map(([name, value]) => `"${name}"\t: ${typeof value === 'string' ? `"${value}"` : value}`)
    .join(' , ')}}\r`;
const NOTATIONS: readonly Notation[] = [
  { format: 'json', head: '', print: serializeRecord },
  { format: 'json', head: '\ufeff \n\n', print: spaced },
  { format: 'json', head: '', print: (record) => serializeRecord(record).replace('"id"', String.raw`"\u0069d"`) },
  { format: 'json', head: '', print: (record) => serializeRecord(record).replace(/"id":-?[0-9]+/, '$&e0') },
  { format: 'csv', head: `${CSV_HEAD}\n`, print: serializeCsvRow },
  {
    format: 'csv',
    head: `\ufeff${CSV_HEAD}\r\n\r\n`,
    print: (record) => `"${serializeCsvRow(record).replaceAll(',', '","')}"\r`,
  },
];

async function storageOf(orders: readonly OrderRecord[]): Promise<SqliteStorage> {
  const opened = openSqliteStorage(IN_MEMORY);
  assert.ok(opened.ok);
  await opened.data.orders.put(orders);
  return opened.data;
}

async function stored({ records }: SqliteStorage): Promise<readonly OrderRecord[]> {
  const batches: (readonly OrderRecord[])[] = [];
  for await (const batch of records()) batches.push(batch);
  return batches.flat();
}

/**
 * Imports the text in two chunks. Returns the outcome. If the text has a mistake, returns the line
 * number and the message that the command would print.
 */
async function imported(storage: SqliteStorage, { format }: Notation, text: string, cut: number, replace: boolean) {
  async function* chunks() {
    const bytes = Buffer.from(text);
    yield bytes.subarray(0, cut);
    yield bytes.subarray(cut);
  }
  try {
    return await storage.importRecords(readOrders(chunks(), format, ['on_hold']), replace);
  } catch (error) {
    assert.ok(error instanceof ImportMistake, String(error));
    return `${error.line}: ${error.message}`;
  }
}

/**
 * Puts the orders one by one. Stores none of them if two have the same id. Without `replace`, also
 * stores none if an id is already stored.
 */
async function putOneByOne(
  { orders }: SqliteStorage,
  firstLine: number,
  given: readonly OrderRecord[],
  replace: boolean,
) {
  const lineOf = (index: number) => firstLine + index;
  const repeated = given.findIndex(
    ({ id }, index) =>
      given.slice(index + 1).every((other) => other.id !== id) && given.findIndex((other) => other.id === id) < index,
  );
  if (repeated >= 0) {
    const id = given[repeated]?.id;
    return {
      outcome: 'twice',
      id,
      line: lineOf(repeated),
      earlier: lineOf(given.findIndex((other) => other.id === id)),
    };
  }
  for (const [index, { id }] of replace ? [] : given.entries()) {
    if ((await orders.get(id)) !== undefined) return { outcome: 'exists', id, line: lineOf(index) };
  }
  for (const record of given) await orders.put([record], { replace });
  return { outcome: 'stored', count: given.length };
}

test('an import of JSON or CSV stores the same as one put for each order, or reports a conflict and stores nothing', async () => {
  const given = fc.oneof(orderRecords, fc.array(orderRecord, { minLength: 1, maxLength: 8 }));
  const few = { id: fc.constantFrom(-1n, 0n, 1n, 2n), status: fc.constantFrom('pending', 'on_hold') };
  await fc.assert(
    fc.asyncProperty(
      orderRecords,
      fc.oneof(given, fc.array(fc.record(few), { minLength: 1, maxLength: 4 })),
      fc.constantFrom(...NOTATIONS),
      fc.boolean(),
      fc.nat(200),
      async (before, orders, notation, replace, cut) => {
        const rows = orders.length === 0 ? [{ id: 5n, status: 'pending' }] : orders;
        const [actual, expected] = [await storageOf(before), await storageOf(before)];
        const text = notation.head + rows.map((record) => `${notation.print(record)}\n`).join('');
        const firstLine = notation.head.split('\n').length;
        assert.deepEqual(
          await imported(actual, notation, text, cut, replace),
          await putOneByOne(expected, firstLine, rows, replace),
        );
        assert.deepEqual(await stored(actual), await stored(expected));
        await Promise.all([actual.close(), expected.close()]);
      },
    ),
    { numRuns: sampledRuns(300) },
  );
});

const TOKENS = ['{', '}', ',', ':', '"id"', '"petId"', '"status"', '"x"', '"complete"', ' ', '\t', '\r', '"pending"'];
const ODD = ['true', 'false', 'null', '-', '-0', '01', '1.5', '1e3', '[]', '{}', String.raw`"\u0061"`, '"\u2028"', '"'];
const token = fc.oneof(fc.constantFrom(...TOKENS), fc.constantFrom(...ODD), int64.map(String), fc.bigInt().map(String));
const member = fc
  .tuple(fc.constantFrom('"id"', '"petId"', '"quantity"', '"shipDate"', '"complete"', '"status"', '"x"'), token)
  .map(([name, value]) => `${name}:${value}`);

test('an import reads a line exactly as parseJson does, whether or not JSON.parse can read it', async () => {
  let good = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.array(token, { minLength: 1, maxLength: 12 }).map((tokens) => tokens.join('')),
        fc.array(member, { minLength: 1, maxLength: 6 }).map((members) => `{${members.join(',')}}`),
        orderRecord.map(serializeRecord),
      ),
      async (line) => {
        const actual = await recordsIn(`{"id":1}\n${line}`).then(
          (records) => records.slice(1),
          (error) => error.message,
        );
        assert.deepEqual(actual, /^[ \t\r]*$/.test(line) ? [] : expectedOf(line));
        if (Array.isArray(actual)) good++;
      },
    ),
    { numRuns: 5_000 },
  );
  assert.ok(good > 100, `${good} lines`);
});

async function recordsIn(text: string): Promise<readonly OrderRecord[]> {
  const records: OrderRecord[] = [];
  async function* chunks() {
    yield Buffer.from(text);
  }
  for await (const batch of readOrders(chunks(), 'json', [])) records.push(...batch.map(({ record }) => record));
  return records;
}

/** Returns the record of a line in an array, or the message of its mistake. */
function expectedOf(line: string): unknown {
  try {
    const parsed = parseOrderRecord(parseJson(line), ORDER_STATUSES);
    if (!('mistake' in parsed)) return [parsed];
    const { field, mistake } = parsed;
    return `${/^[\w ]+$/.test(field) ? field : JSON.stringify(field)} ${mistake}${field === 'status' ? '; to accept other statuses, use --statuses' : ''}`;
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError);
    return `invalid JSON, column ${error.column}: ${error.reason}`;
  }
}
