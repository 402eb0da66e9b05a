import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseOrderRecord } from 'store-orders/store';
import { JsonSyntaxError, parseJson } from '../../src/orders/json.js';

const WHOLE: readonly (readonly [text: string, value: bigint])[] = [
  ['1e0', 1n],
  ['1.0', 1n],
  ['-0.0e-7', 0n],
  ['0e999999999999999999999', 0n],
  ['0.000e-999999999999999999999', 0n],
  ['1.5e1', 15n],
  ['-12300e-2', -123n],
  ['9007199254740993.0', 9007199254740993n],
  ['9.007199254740993e15', 9007199254740993n],
  ['9223372036854775807000e-3', 9223372036854775807n],
  ['9.223372036854775807E+18', 9223372036854775807n],
  ['-9223372036854775808.000', -9223372036854775808n],
  ['0.00000000000000000001e20', 1n],
];

for (const [text, value] of WHOLE) {
  test(`${text} is exactly the integer ${value}`, () => {
    assert.deepEqual(parseOrderRecord({ id: parseJson(text) }), { ok: true, record: { id: value, status: 'pending' } });
  });
}

const ROUNDED = [
  '1.5e-400',
  '-1.5e-400',
  '1e-324',
  '0.99999999999999999e0',
  '100000000000000001e-17',
  '3.00000000000000000001e2',
  '9007199254740991.4',
  '-4503599627370497.25',
  '9007199254740991.4e0',
];

for (const text of ROUNDED) {
  test(`${text} is rejected, because it would be rounded to an integer`, () => {
    assert.throws(() => parseJson(`{"id": ${text}}`), {
      name: 'JsonSyntaxError',
      reason: 'this number would be rounded to an integer; write an integer, or a fraction with fewer digits',
      line: 1,
      column: 8,
    });
  });
}

for (const text of ['0.5', '1e-1', '10e-2', '4503599627370495.5', '5e-324']) {
  test(`${text} is parsed as a fraction, which no integer field of an order accepts`, () => {
    const value = parseJson(text);
    assert.equal(value, Number(text));
    for (const field of ['id', 'petId', 'quantity']) {
      const parsed = parseOrderRecord({ id: 1n, [field]: value });
      assert.ok(!parsed.ok && parsed.field === field, field);
    }
  });
}

/** Returns the parsed value, or `undefined` if the text is rejected. */
function read(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError);
    return undefined;
  }
}

test('parseJson and a model find the same decimal numbers to be exact integers, with and without an exponent', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0019'), minLength: 1, maxLength: 20 });
  const number = fc.tuple(
    fc.constantFrom('', '-'),
    digits,
    fc.option(digits),
    fc.option(fc.integer({ min: -24, max: 24 })),
  );
  fc.assert(
    fc.property(number, ([sign, whole, fraction, exponent]) => {
      const units = BigInt(whole + (fraction ?? ''));
      const text = `${sign}${BigInt(whole)}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : `e${exponent}`}`;
      const shift = (exponent ?? 0) - (fraction ?? '').length;
      const divisor = 10n ** BigInt(Math.max(0, -shift));
      const isWhole = units % divisor === 0n;
      const value = read(text);
      if (!isWhole) return value === (Number.isInteger(Number(text)) ? undefined : Number(text));
      return value === (units / divisor) * 10n ** BigInt(Math.max(0, shift)) * (sign === '-' ? -1n : 1n);
    }),
    { numRuns: 5_000 },
  );
});

test('parseJson parses numbers of any exponent and length quickly', () => {
  const huge = ['1e309', '1e1000000000', `1e${'9'.repeat(100_000)}`, `${'1'.repeat(100_000)}e1`];
  for (const text of huge) assert.ok(!parseOrderRecord({ id: read(text) }).ok, text.slice(0, 20));
  for (const text of ['1e-1000000000', `1e-${'9'.repeat(100_000)}`, `1.${'0'.repeat(100_000)}1`]) {
    assert.equal(read(text), undefined, text.slice(0, 20));
  }
  assert.equal(read(`1.${'0'.repeat(100_000)}`), 1n);
  assert.deepEqual(parseOrderRecord({ id: read('1e400') }), {
    ok: false,
    field: 'id',
    message: 'must fit into int64, -2^63 to 2^63-1',
  });
});
