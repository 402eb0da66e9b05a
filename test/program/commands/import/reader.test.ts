import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { OrderRecord } from 'store-orders';
import { ORDER_STATUSES } from 'store-orders/cancellation';
import { JsonSyntaxError, parseJson, serializeRecord } from 'store-orders/json';
import { parseOrderRecord } from 'store-orders/store';
import { CSV_HEAD, serializeCsvRow } from '../../../../dist/program/commands/import/csv.js';
import { readOrders } from '../../../../dist/program/commands/import/reader.js';
import { IN_MEMORY, openSqliteStorage } from '../../../../dist/program/storage/sqlite.js';
import { int64, orderRecord, orderRecords } from '../../../orders/support/order-arbitrary.js';
import { sampledRuns } from '../../../support/sampled.js';

/** A way to write orders as text. `head` precedes the lines of the orders. */
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

/** Yields a text in two chunks. */
async function* chunksOf(text: string, cut: number): AsyncGenerator<string> {
  yield text.slice(0, cut);
  yield text.slice(cut);
}

/** Returns the records that an import must leave, or `undefined` if it must be refused. */
function merged(before: readonly OrderRecord[], rows: readonly OrderRecord[], replace: boolean) {
  const ids = new Set(rows.map(({ id }) => id));
  const kept = before.filter(({ id }) => !ids.has(id));
  const isRefused = ids.size < rows.length || (!replace && kept.length < before.length);
  return isRefused ? undefined : [...kept, ...rows];
}

test('an import of JSON or CSV stores each order exactly, or names the lines of a conflict and stores nothing', async () => {
  const different = orderRecords.filter(({ length }) => length > 0);
  const few = { id: fc.constantFrom(-1n, 0n, 1n, 2n), status: fc.constantFrom('pending', 'on_hold') };
  const similar = fc.array(fc.record(few, { noNullPrototype: true }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      orderRecords,
      fc.oneof(different, similar),
      fc.constantFrom(...NOTATIONS),
      fc.boolean(),
      fc.nat(200),
      async (before, rows, { format, head, print }, replace, cut) => {
        const opened = openSqliteStorage(IN_MEMORY);
        assert.ok(opened.ok);
        const { storage } = opened;
        await storage.orders.put(before);
        const text = head + rows.map((record) => `${print(record)}\n`).join('');
        const imported = await storage.importRecords(readOrders(chunksOf(text, cut), format, ['on_hold']), replace);
        const expected = merged(before, rows, replace);
        const stored: OrderRecord[] = [];
        for await (const batch of storage.records()) stored.push(...batch);
        const ascending = (expected ?? before).toSorted((a, b) => (a.id < b.id ? -1 : 1));
        assert.deepEqual(stored, ascending);
        assert.equal(imported.outcome === 'stored', expected !== undefined, imported.outcome);
        const idOn = (line: number) => rows[line - head.split('\n').length]?.id;
        if (imported.outcome === 'exists') assert.equal(idOn(imported.line), imported.id);
        if (imported.outcome === 'twice') {
          assert.ok(imported.earlier < imported.line);
          assert.deepEqual([idOn(imported.earlier), idOn(imported.line)], [imported.id, imported.id]);
        }
        await storage.close();
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

test('an import reads a line exactly as parseJson does, but for members that are null, whether or not JSON.parse can read it', async () => {
  let good = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.array(token, { minLength: 1, maxLength: 12 }).map((tokens) => tokens.join('')),
        fc.array(member, { minLength: 1, maxLength: 6 }).map((members) => `{${members.join(',')}}`),
        orderRecord.map(serializeRecord),
        fc
          .tuple(orderRecord, fc.constantFrom('', ' ', '\t', '\r'))
          .map(([record, space]) => serializeRecord(record).replace('{', `{"id"${space}:7,`)),
      ),
      async (line) => {
        const expected = recordOf(line);
        const records = recordsIn(`{"id":1}\n${line}`);
        if (expected !== undefined) good++;
        if (expected !== undefined) assert.deepEqual((await records).at(1), expected);
        else if (/^[ \t\r]*$/.test(line)) assert.equal((await records).length, 1);
        else await assert.rejects(records, { name: 'ImportMistake', line: 2 });
      },
    ),
    { numRuns: 5_000 },
  );
  assert.ok(good > 100, `${good} lines`);
});

async function recordsIn(text: string): Promise<readonly OrderRecord[]> {
  const records: OrderRecord[] = [];
  for await (const batch of readOrders(chunksOf(text, 0), 'json', [])) {
    records.push(...batch.map(({ record }) => record));
  }
  return records;
}

function recordOf(line: string): OrderRecord | undefined {
  try {
    const value = parseJson(line);
    const fields = Object.entries(Object(value)).filter(([, field]) => field !== null);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const parsed = parseOrderRecord(isObject ? Object.fromEntries(fields) : value, ORDER_STATUSES);
    return 'mistake' in parsed ? undefined : parsed;
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError);
    return undefined;
  }
}
