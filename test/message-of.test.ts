import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageOf } from '../dist/message-of.js';

test('the message of a failure is its own, or those of the errors that it contains, or the failure as text', () => {
  const refused = [new Error('::1 refused'), { message: '127.0.0.1 refused' }];
  const failures = [new AggregateError(refused), new AggregateError(refused, 'no route'), { code: 7 }, 'text', null];
  const messages = ['::1 refused; 127.0.0.1 refused', 'no route', '{ code: 7 }', 'text', 'null'];
  assert.deepEqual(failures.map(messageOf), messages);
});
