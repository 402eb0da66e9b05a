import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancelOutcome, shipOutcome } from 'store-orders/cancellation';

test('only an order whose status is pending can be cancelled (specification, part 3, rules 1 and 2)', () => {
  assert.equal(cancelOutcome('pending'), 'cancelled');
  assert.equal(cancelOutcome('shipped'), 'already_shipped');
  assert.equal(cancelOutcome('cancelled'), 'already_cancelled');
  assert.equal(cancelOutcome(undefined), 'not_found');
  for (const status of ['returned', 'constructor', '__proto__', '']) assert.equal(cancelOutcome(status), 'not_pending');
});

test('only a pending order can be shipped', () => {
  assert.equal(shipOutcome('pending'), 'shipped');
  assert.equal(shipOutcome('shipped'), 'already_shipped');
  assert.equal(shipOutcome('cancelled'), 'already_cancelled');
  assert.equal(shipOutcome(undefined), 'not_found');
  assert.equal(shipOutcome('returned'), 'not_pending');
});
