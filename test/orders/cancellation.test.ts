import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cancelOutcome, shipOutcome } from 'store-orders/cancellation';

test('only an order whose status is pending can be cancelled or shipped (specification, part 3, rules 1 and 2)', () => {
  assert.deepEqual([cancelOutcome('pending'), shipOutcome('pending')], ['cancelled', 'shipped']);
  for (const outcomeOf of [cancelOutcome, shipOutcome]) {
    assert.equal(outcomeOf('shipped'), 'already_shipped');
    assert.equal(outcomeOf('cancelled'), 'already_cancelled');
    assert.equal(outcomeOf(undefined), 'not_found');
    for (const status of ['returned', 'constructor', '__proto__', '']) assert.equal(outcomeOf(status), 'not_pending');
  }
});
