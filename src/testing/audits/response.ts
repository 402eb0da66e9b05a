import assert from 'node:assert/strict';

/** A response, read to its end. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export function assertStatus(
  status: number,
  expected: number,
  message = `the status must be ${expected}, not ${status}`,
): void {
  assert.equal(status, expected, message);
}

/**
 * Asserts that a response has the expected status and a complete Error object (specification, part
 * 2) with the same `status`. Returns its `code`.
 */
export function assertError({ status, headers, text }: ReadResponse, expected: number, which?: string): string {
  assertStatus(status, expected, which);
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/);
  const error: unknown = JSON.parse(text);
  assert.ok(typeof error === 'object' && error !== null, 'the body of an error response must be an object');
  const field = (name: string): unknown => Reflect.get(error, name);
  assert.equal(field('status'), status, 'Error.status must equal the status of the response');
  for (const name of ['code', 'message']) {
    assert.ok(typeof field(name) === 'string' && field(name) !== '', `Error.${name} must be a non-empty string`);
  }
  return String(field('code'));
}

interface WithFields {
  readonly headers: Pick<Headers, 'get'>;
}

/** Returns the values of X-RateLimit-Limit, -Remaining and -Reset, which every response has. */
export function rateLimitOf({ headers }: WithFields) {
  const read = (name: string) => {
    const value = headers.get(name) ?? 'absent';
    assert.match(value, /^(?:0|[1-9][0-9]*)$/, name);
    return Number(value);
  };
  return {
    limit: read('x-ratelimit-limit'),
    remaining: read('x-ratelimit-remaining'),
    reset: read('x-ratelimit-reset'),
  };
}

export function retryAfterOf({ headers }: WithFields): number {
  const value = headers.get('retry-after') ?? 'absent';
  assert.match(value, /^[1-9][0-9]*$/, 'Retry-After must be a whole number of seconds, at least 1');
  return Number(value);
}

/** Returns the quota of a day that the optional field RateLimit-Policy announces, if it does. */
export function dayQuotaOf({ headers }: WithFields): number | undefined {
  const policies = (headers.get('ratelimit-policy') ?? '').split(',');
  const quota = policies.find((policy) => /;w=86400\b/.test(policy))?.match(/;q=(\d+)/)?.[1];
  return quota === undefined ? undefined : Number(quota);
}
