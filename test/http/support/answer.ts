import assert from 'node:assert/strict';
import type { ErrorCode } from 'store-orders';
import { rateLimitOf as readRateLimit, retryAfterOf as readRetryAfter } from '../../../dist/testing/audits/response.js';

/** A response as a client sees it, whichever way the request was sent. */
export interface Answer {
  readonly status: number;
  /** The header fields by lower-case name. Repeated fields are joined by a comma. */
  readonly fields: ReadonlyMap<string, string>;
  readonly text: string;
}

export function createAnswer(status: number, namesAndValues: readonly string[], text: string): Answer {
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < namesAndValues.length; i += 2) {
    const name = String(namesAndValues[i]).toLowerCase();
    const before = fields.get(name);
    fields.set(name, before === undefined ? String(namesAndValues[i + 1]) : `${before}, ${namesAndValues[i + 1]}`);
  }
  return { status, fields, text };
}

export const rateLimitOf = (answer: Answer) => readRateLimit(fieldsOf(answer));
export const tagOf = ({ fields }: Answer) => fields.get('etag') ?? assert.fail('no ETag');
export const retryAfterOf = (answer: Answer) => readRetryAfter(fieldsOf(answer));

function fieldsOf({ fields }: Answer) {
  return { headers: { get: (name: string) => fields.get(name) ?? null } };
}

/** Checks the rules that hold for every response, whatever its status. */
export function checkAnswer(answer: Answer, method: string): void {
  const { status, fields, text } = answer;
  const { limit, remaining } = rateLimitOf(answer);
  assert.ok(remaining <= limit, 'X-RateLimit-Remaining is at most X-RateLimit-Limit');
  assert.equal(fields.has('retry-after'), status === 429 || status === 503, `Retry-After with ${status}`);
  assert.equal(fields.has('allow'), status === 405, `Allow with ${status}`);
  assert.equal(fields.has('www-authenticate'), status === 401, `WWW-Authenticate with ${status}`);
  assert.equal(fields.has('x-powered-by'), false);
  // HTTP/2 forbids white space around a value (RFC 9113 §8.2.1).
  for (const [name, value] of fields) assert.equal(value, value.trim(), name);
  const cacheControl = status === 204 ? undefined : status >= 400 ? 'no-store' : 'private, no-cache';
  assert.equal(fields.get('cache-control'), cacheControl);
  if (status === 204 || status === 304) {
    assert.equal(text, '');
    assert.equal(fields.has('content-length') || fields.has('content-type'), false, `a ${status} has no content`);
    return;
  }
  assert.equal(fields.get('content-type'), 'application/json');
  if (method === 'HEAD') {
    assert.equal(text, '');
    return;
  }
  // A streamed list has no Content-Length. If fetch has decoded the list, Content-Length is not the
  // length of the text.
  if (status !== 200 || (fields.has('content-length') && !fields.has('content-encoding'))) {
    assert.equal(fields.get('content-length'), `${text.length}`, 'Content-Length is the length of the ASCII text');
  }
  if (status >= 400) checkErrorObject(status, text);
}

function checkErrorObject(status: number, text: string): void {
  const object: Record<string, unknown> = JSON.parse(text);
  assert.deepEqual(Object.keys(object).sort(), ['code', 'message', 'status'], 'exactly three fields');
  assert.equal(object['status'], status);
  assert.ok(typeof object['message'] === 'string' && object['message'].length > 20, 'the message is a sentence');
}

/** Checks that the response is the Error object with this code. */
export function assertError({ status, text }: Answer, code: ErrorCode): void {
  const object = JSON.parse(text);
  assert.deepEqual([object.code, object.status], [code, status]);
}
