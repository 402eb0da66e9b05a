import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseJson, serializeRecord } from 'store-orders/json';
import { parseOrderRecord, serializeOrder } from 'store-orders/store';
import { serializeOrders } from '../../dist/orders/json.js';
import { orderRecord } from './support/order-arbitrary.js';

/** Converts the result of parseJson to that of JSON.parse. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rounded(member)]));
}

test('records that are serialised and parsed again are unchanged, down to the last digit of an int64', () => {
  fc.assert(
    fc.property(orderRecord, (record) => {
      assert.deepEqual(parseOrderRecord(parseJson(serializeRecord(record))), record);
    }),
  );
});

test('an order is serialised with the fields of the specification, in the sequence of the specification', () => {
  const complete = { complete: false, shipDate: '2026-01-31T12:00:00Z', quantity: 0, petId: -1n, id: 2n ** 63n - 1n };
  assert.equal(
    serializeOrder(complete),
    '{"id":9223372036854775807,"petId":-1,"quantity":0,"shipDate":"2026-01-31T12:00:00Z","complete":false}',
  );
  assert.equal(serializeOrders([{ id: 1n }, { id: 2n, complete: true }]), '[{"id":1},{"id":2,"complete":true}]');
  assert.equal(serializeOrders([]), '[]');
});

test('a field that is null in an order is omitted when the order is serialised', () => {
  const fields = { petId: null, quantity: null, shipDate: null, complete: null };
  assert.equal(serializeOrder(Object.assign({ id: 1n }, Object(fields))), '{"id":1}');
});

test('serializeOrder escapes text to ASCII, including lone surrogates, so that every character of the result is one byte', () => {
  const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
  fc.assert(
    fc.property(anyUnits, (shipDate) => {
      const text = serializeOrder({ id: 1n, shipDate });
      assert.match(text, /^[\x20-\x7e]*$/);
      assert.equal(JSON.parse(text).shipDate, shipDate);
    }),
  );
});

/**
 * Values with names that objects inherit, with a name that occurs in several objects, with the
 * greatest depth, and with many values beside each other.
 */
const ODD = [
  ...['{"__proto__": 1, "toString": [2]}', '[{"a": 1}, {"a": {"a": 2}}]'],
  ...[`${'['.repeat(100)}${']'.repeat(100)}`, `[${'[],'.repeat(100)}{}]`],
];

test('parseJson parses every JSON value as JSON.parse does, but keeps integers exact', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2, '\t', '\r\n '), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      assert.deepEqual(rounded(parseJson(text)), JSON.parse(text));
    }),
    { numRuns: 300, examples: ODD.map((text) => [JSON.parse(text), 0]) },
  );
  assert.equal(parseJson(' 9007199254740993 '), 9007199254740993n);
  assert.equal(parseJson(String.raw`"\u00e9\ud83d\ude00\"\\\/\b"`), 'é😀"\\/\b');
});

const NUMBERS: readonly (readonly [text: string, value: bigint | number])[] = [
  ['9.223372036854775807E+18', 9223372036854775807n],
  ['1e300', 10n ** 300n],
  ['4503599627370495.5', 4503599627370495.5],
  ['5e-324', 5e-324],
  // A double would round these to an integer.
  ['1.5e-400', Number.NaN],
  ['0.99999999999999999e0', Number.NaN],
  [`1e-${'9'.repeat(100_000)}`, Number.NaN],
  [`1.${'0'.repeat(100_000)}1`, Number.NaN],
  [`${'1'.repeat(100_000)}e1000000000`, Number.POSITIVE_INFINITY],
];

for (const [text, value] of NUMBERS) {
  test(`${text.slice(0, 30)} is ${String(value).slice(0, 30)}`, () => assert.equal(parseJson(text), value));
}

test('parseJson and a model find the same decimal numbers to be exact integers, with and without an exponent', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0019'), minLength: 1, maxLength: 20 });
  const exponents = fc.option(fc.integer({ min: -24, max: 24 }));
  const number = fc.tuple(fc.constantFrom('', '-'), digits, fc.option(digits), exponents);
  fc.assert(
    fc.property(number, ([sign, whole, fraction, exponent]) => {
      const units = BigInt(whole + (fraction ?? ''));
      const text = `${sign}${BigInt(whole)}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : `e${exponent}`}`;
      const shift = (exponent ?? 0) - (fraction ?? '').length;
      const divisor = 10n ** BigInt(Math.max(0, -shift));
      const isWhole = units % divisor === 0n;
      const value = parseJson(text);
      if (!isWhole) return Object.is(value, Number.isInteger(Number(text)) ? Number.NaN : Number(text));
      return value === (units / divisor) * 10n ** BigInt(Math.max(0, shift)) * (sign === '-' ? -1n : 1n);
    }),
    { numRuns: 5_000 },
  );
});

test('parseJson rejects what JSON.parse rejects, and duplicate names, but nothing else', () => {
  const broken = fc
    .tuple(fc.json(), fc.nat(), fc.nat({ max: 1 }), fc.constantFrom(...'{}[]",:\\ 0-+.eEtn\n\u0001', '\u00a0', ''))
    .map(([text, at, removed, added]) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + added + text.slice(start + removed);
    });
  fc.assert(
    fc.property(broken, (text) => {
      const [ours, theirs] = [failure(() => parseJson(text)), failure(() => JSON.parse(text))];
      if (ours instanceof SyntaxError && / appears twice, /.test(ours.message)) return true;
      return ours instanceof SyntaxError === theirs instanceof SyntaxError;
    }),
    { numRuns: 3_000 },
  );
});

function failure(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

const REFUSED: readonly (readonly [text: string, reason: string, line: number, column: number])[] = [
  ['', 'expected a value', 1, 1],
  ['\ufeff1', 'expected a value', 1, 1],
  ['01', 'unexpected text after the JSON value', 1, 2],
  ['1 2', 'unexpected text after the JSON value', 1, 3],
  ['[1,]', 'expected a value', 1, 4],
  ['[1 2]', 'expected ]', 1, 4],
  ['[NaN]', 'expected a value', 1, 2],
  ['{"a" 1}', 'expected :', 1, 6],
  ['{"a": 1', 'expected }', 1, 8],
  ['{a: 1}', 'expected a string', 1, 2],
  ['[\n  {},\r\n  x]', 'expected a value', 3, 3],
  ['["a",\n "b\\"]', 'unterminated string', 2, 2],
  ['["a", "b\n"]', 'this string has a control character or an invalid escape', 1, 7],
  ['["\\x"]', 'this string has a control character or an invalid escape', 1, 2],
  ['{"id": 1,\n "id": 2}', 'the name "id" appears twice', 2, 2],
  [String.raw`{"a": 1, "\u0061": 2}`, 'the name "a" appears twice', 1, 10],
  ['['.repeat(101), 'nested too deeply', 1, 101],
];

for (const [text, reason, line, column] of REFUSED) {
  const message = `${reason}, line ${line} column ${column}`;
  test(`reports the position of a mistake: ${JSON.stringify(text)} is rejected, ${message}`, () => {
    assert.throws(() => parseJson(text), { name: 'JsonSyntaxError', message, reason, line, column });
  });
}

test('parseJson parses a string with millions of escapes', () => {
  const text = JSON.stringify('\\"\n'.repeat(1_500_000));
  assert.ok(parseJson(text) === JSON.parse(text));
});
