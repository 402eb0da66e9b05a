import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMemoryOrderStore } from 'store-orders';
import { parseOrderRecord } from 'store-orders/store';
import { INT64_MAX, INT64_MIN } from './support/ids.js';
import { orderRecord } from './support/order-arbitrary.js';

const INTEGER = 'must be an integer';
const BIGINT = 'must be a bigint if it is beyond 2^53-1';
const INT64 = 'must fit into int64, -2^63 to 2^63-1';
const SAFE = 'must be an integer between -(2^53-1) and 2^53-1';
const DATE_TIME = 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z';
const WORD = 'must be a lower-case word such as pending or shipped';

test('a valid record is accepted unchanged, and its status is pending by default', () => {
  fc.assert(fc.property(orderRecord, (record) => assert.deepEqual(parseOrderRecord(record), record)));
  assert.deepEqual(parseOrderRecord({ id: 1n }), { id: 1n, status: 'pending' });
});

test('an id may be given as a number, a quantity as a bigint, and an absent field as undefined', () => {
  const record = { id: 7n, petId: 2n ** 53n - 1n, quantity: 3, status: 'pending' };
  const input = { id: 7, petId: 2 ** 53 - 1, quantity: 3n, shipDate: undefined, status: undefined };
  assert.deepEqual(parseOrderRecord(input), record);
});

const WRONG: readonly (readonly [field: string, mistake: string, ...values: unknown[]])[] = [
  ['id', INTEGER, '1', null, undefined, true, 1.5, Number.NaN, Number.POSITIVE_INFINITY, {}],
  ['id', BIGINT, 2 ** 53, -(2 ** 53), 2 ** 63],
  ['id', INT64, INT64_MAX + 1n, INT64_MIN - 1n, 2n ** 64n + 1n],
  ['petId', INTEGER, '1', null],
  ['quantity', SAFE, '1', null, 0.5, Number.NaN, 2 ** 53, 2n ** 53n, 2n ** 64n + 1n],
  ['shipDate', DATE_TIME, 0, new Date(0)],
  ['complete', 'must be true or false', 1, 'true', null],
  ['status', WORD, null, 1, '', 'Shipped', ' pending', 'on hold', 'pending\n', 'x'.repeat(65)],
  ['frobnicate', 'is not a field of an order', 'x'],
  ['constructor', 'is not a field of an order', 1],
  ['__proto__', 'is not a field of an order', 2],
];

for (const [field, mistake, ...values] of WRONG) {
  test(`the error names the invalid field of a record: ${field} ${mistake}`, () => {
    for (const value of values) {
      assert.deepEqual(parseOrderRecord({ id: 1n, [field]: value }), { field, mistake }, String(value));
    }
  });
}

test('a record must be an object with an id', () => {
  for (const record of [null, undefined, 1n, 'order', true]) {
    assert.deepEqual(parseOrderRecord(record), { field: 'the record', mistake: 'must be an object' });
  }
  for (const record of [{}, [], { petId: 1n }]) {
    assert.deepEqual(parseOrderRecord(record), { field: 'id', mistake: 'is missing' });
  }
});

test('with statuses, parseOrderRecord rejects any other status', () => {
  const parse = (status: string) => parseOrderRecord({ id: 1n, status }, ['pending', 'returned']);
  assert.deepEqual(parse('returned'), { id: 1n, status: 'returned' });
  assert.deepEqual(parse('pendng'), { field: 'status', mistake: 'must be one of pending, returned, not "pendng"' });
});

test('a shipDate is an RFC 3339 date-time, kept as it was written', () => {
  const good = ['2026-01-31T12:00:00Z', '2024-02-29t23:59:60.123456789z', '2000-02-29T00:00:00+23:59'];
  good.push(`2026-01-31T12:00:00.${'1'.repeat(38)}+00:00`);
  for (const year of ['0004', '1908', '1996', '1600', '2012', '2400']) good.push(`${year}-02-29T19:59:59Z`);
  for (const month of ['01', '03', '05', '07', '08', '10', '12']) good.push(`2026-${month}-31T00:00:00-00:00`);
  for (const month of ['04', '06', '09', '11']) good.push(`2026-${month}-30T00:00:00Z`);
  for (const shipDate of good) {
    assert.deepEqual(parseOrderRecord({ id: 1n, shipDate }), { id: 1n, shipDate, status: 'pending' });
  }
});

test('a shipDate is rejected if it is not a date-time, or if its day or time does not exist', () => {
  const days =
    '2026-02-30 2023-02-29 2026-02-29 1900-02-29 2100-02-29 2026-00-01 2026-13-01 2026-01-00 2026-01-32'.split(' ');
  const shortMonths = ['04', '06', '09', '11'].map((month) => `2026-${month}-31`);
  const times = [
    ...['24:00:00Z', '12:60:00Z', '12:00:61Z', '12:00:60Z', '23:58:60Z', '22:59:60Z', '23:59:60+01:00'],
    ...['12:00:00', '12:00Z', '12:00:00.Z', '12:00:00+24:00', '12:00:00+00:60', '12:00:00+0100'],
    ...['12:00:00Z\n', '12:00:00Zx', `12:00:00.${'1'.repeat(39)}Z`, `12:00:00.${'1'.repeat(1_000_000)}Z`],
  ];
  const bad = [
    ...[...days, ...shortMonths].map((day) => `${day}T12:00:00Z`),
    ...times.map((time) => `2026-01-31T${time}`),
    ...['', '2026-01-31', '2026-01-31 12:00:00Z', '26-01-31T12:00:00Z', '+002026-01-31T12:00:00Z', 'tomorrow'],
  ];
  for (const shipDate of bad) {
    assert.deepEqual(parseOrderRecord({ id: 1n, shipDate }), { field: 'shipDate', mistake: DATE_TIME }, shipDate);
  }
});

test('createMemoryOrderStore is empty without orders, and throws if an order is invalid or two have the same id, and names the order', () => {
  for (const [name, message, ...orders] of [
    ['TypeError', `order 5: quantity ${SAFE}`, { id: 5n, quantity: 0.5 }],
    ['TypeError', 'order undefined: the record must be an object', null],
    ['RangeError', 'orders: the id 1 appears twice', { id: 1n }, { id: 1 }],
  ]) {
    assert.throws(() => createMemoryOrderStore(Object(orders)), { name, message });
  }
  assert.deepEqual(createMemoryOrderStore().list(), []);
  const message = 'orders: expected an array or another iterable of orders';
  assert.throws(() => createMemoryOrderStore(Object({ id: 1n })), { name: 'TypeError', message });
});
