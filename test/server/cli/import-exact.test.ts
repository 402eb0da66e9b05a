import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type OrderRecord, parseJson } from 'store-orders';
import { CSV_HEAD, printCsvRow } from '../../../src/server/cli/import/csv.js';
import { OrderLines } from '../../../src/server/cli/import/lines.js';
import { PlainJson } from '../../../src/server/cli/import/plain-json.js';
import { ImportMistake, readOrders } from '../../../src/server/cli/import/reader.js';
import { printRecord } from '../../../src/server/cli/import-export.js';
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
  { format: 'json', head: '', print: printRecord },
  { format: 'json', head: '\ufeff \n\n', print: spaced },
  { format: 'json', head: '', print: (record) => printRecord(record).replace('"id"', String.raw`"\u0069d"`) },
  { format: 'json', head: '', print: (record) => printRecord(record).replace(/"id":-?[0-9]+/, '$&e0') },
  { format: 'csv', head: `${CSV_HEAD}\n`, print: printCsvRow },
  {
    format: 'csv',
    head: `\ufeff${CSV_HEAD}\r\n\r\n`,
    print: (record) => `"${printCsvRow(record).replaceAll(',', '","')}"\r`,
  },
];

function storageOf(orders: readonly OrderRecord[]): SqliteStorage {
  const opened = openSqliteStorage(IN_MEMORY);
  assert.ok(opened.ok);
  void opened.data.orders.put(orders);
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
    return await storage.importRecords(readOrders(chunks(), format, ['on_hold'], new OrderLines()), replace);
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
  for (const [index, { id }] of given.entries()) {
    const earlier = given.findIndex((other) => other.id === id);
    if (earlier < index) return `${firstLine + index}: the id ${id} is already on line ${firstLine + earlier}`;
  }
  // If several of the ids are already stored, the outcome names the least of these ids.
  const ascending = [...given].sort((a, b) => (a.id < b.id ? -1 : 1));
  for (const { id } of replace ? [] : ascending) {
    if ((await orders.get(id)) !== undefined) return { outcome: 'exists', id };
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
        const [actual, expected] = [storageOf(before), storageOf(before)];
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

test('if PlainJson can read a line, it returns the same value as parseJson, to the last digit', () => {
  let read = 0;
  const exact = (value: unknown) => (typeof value === 'number' ? BigInt(value) : value);
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(token, { maxLength: 12 }).map((tokens) => tokens.join('')),
        fc.array(member, { maxLength: 6 }).map((members) => `{${members.join(',')}}`),
      ),
      fc.constantFrom('', '{"id":1}\n'),
      (line, before) => {
        const value = new PlainJson(`${before}${line}\n,"id":1}`).read(before.length, before.length + line.length);
        if (value === undefined) return;
        read++;
        const expected = parseJson(line);
        assert.ok(typeof expected === 'object' && expected !== null);
        assert.deepEqual(
          Object.entries(value).map(([name, field]) => [name, exact(field)]),
          Object.entries(expected),
        );
      },
    ),
    { numRuns: 5_000 },
  );
  assert.ok(read > 100, `${read} lines`);
});

test('OrderLines remembers the line of each order id, whether or not the ids are in ascending order', () => {
  fc.assert(
    fc.property(fc.array(int64, { maxLength: 60 }), fc.nat(60), (ids, ascending) => {
      const given = [...ids.slice(0, ascending).sort((a, b) => (a < b ? -1 : 1)), ...ids.slice(ascending)];
      const lines = new OrderLines();
      const model = new Map<bigint, number>();
      for (const [line, id] of given.entries()) {
        assert.equal(lines.add(id, line), model.get(id));
        if (!model.has(id)) model.set(id, line);
      }
      for (const [id, line] of model) assert.equal(lines.get(id), line);
    }),
  );
});
