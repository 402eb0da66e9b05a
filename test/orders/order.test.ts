import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseOrderId } from 'store-orders';
import { EDGE_IDS, int64 } from './support/order-arbitrary.js';

test('the decimal form of every int64 is parsed as exactly that order id', () => {
  for (const id of EDGE_IDS) assert.equal(parseOrderId(String(id)), id);
  fc.assert(fc.property(int64, (id) => parseOrderId(String(id)) === id));
});

const NO_ORDER_ID = {
  'text that is not a number': ['abc', '', '-', 'NaN', 'Infinity', 'null'],
  'an integer that is not in canonical form': '01 -01 00 +1 -0 1e0 1E0 0x1 0b1 1.0 1. .1 1_000 1,000 1n'.split(' '),
  'a percent-encoded integer': ['%31', '%201', '1%20'],
  'white space, alone or around an integer': [' ', ' 1', '1 ', '1\n', '\n1', '1\r\n', '\t1', '1\n2'],
  'an invisible character beside an integer': ['1\u00a0', '\ufeff1', '1\u0000'],
  'an integer in non-ASCII digits or signs': ['١', '１', '𝟏', '1²', '−1'],
  'an integer beyond int64': ['9223372036854775808', '-9223372036854775809', '18446744073709551617', '9'.repeat(1000)],
};

for (const [what, texts] of Object.entries(NO_ORDER_ID)) {
  test(`${what} names no order`, () => {
    for (const text of texts) assert.equal(parseOrderId(text), undefined, JSON.stringify(text));
  });
}
