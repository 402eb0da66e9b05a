import assert from 'node:assert/strict';
import type { Answer } from './audit.js';

/**
 * Asserts that a response has the expected status and contains an Error object (specification, part
 * 2). The object must have all three fields, and its `status` must be that of the response. Returns
 * its `code`.
 */
export function assertError({ status, headers, text }: Answer, expected: number, which?: string): string {
  assert.equal(status, expected, which);
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/);
  const error: unknown = JSON.parse(text);
  assert.ok(typeof error === 'object' && error !== null, 'the body of an error response is an object');
  const field = (name: string): unknown => Reflect.get(error, name);
  assert.equal(field('status'), status, 'Error.status equals the status of the response');
  for (const name of ['code', 'message']) {
    assert.ok(typeof field(name) === 'string' && field(name) !== '', `Error.${name} is a text`);
  }
  return String(field('code'));
}
