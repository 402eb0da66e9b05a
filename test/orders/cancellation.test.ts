import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancel, ship } from 'store-orders/cancellation';

test('only an order whose status is pending can be cancelled (specification, part 3, rules 1 and 2)', () => {
  assert.equal(cancel('pending'), 'cancelled');
  assert.equal(cancel('shipped'), 'already_shipped');
  assert.equal(cancel('cancelled'), 'already_cancelled');
  assert.equal(cancel(undefined), 'not_found');
  for (const status of ['returned', 'constructor', '__proto__', '']) assert.equal(cancel(status), 'not_pending');
});

test('only a pending order can be shipped', () => {
  assert.equal(ship('pending'), 'shipped');
  assert.equal(ship('shipped'), 'already_shipped');
  assert.equal(ship('cancelled'), 'already_cancelled');
  assert.equal(ship(undefined), 'not_found');
  assert.equal(ship('returned'), 'not_pending');
});
