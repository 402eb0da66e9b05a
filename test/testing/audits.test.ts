import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Audit, createTestService, serviceAudits, type TestService } from 'store-orders/testing';
import { assertFail, failures } from './support/failures.js';

type Fetch = (request: Request) => Response | Promise<Response>;
type Break = (fetch: Fetch, service: TestService) => Fetch;

interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly service: TestService;
}

function auditsOf(breaks: Break): readonly Audit[] {
  const service = createTestService();
  return serviceAudits({ ...service, fetch: breaks(service.fetch, service) });
}

const changingRequests =
  (change: (request: Request) => Request): Break =>
  (fetch) =>
  (request) =>
    fetch(change(request));

function withFields(request: Request, change: (fields: Headers) => void): Request {
  const changed = new Request(request);
  change(changed.headers);
  return changed;
}

const changingResponses =
  (change: (exchange: Exchange) => Promise<Response> | Response): Break =>
  (fetch, service) =>
  async (request) =>
    change({ request, response: await fetch(request), service });

const changingLists = (change: (text: string) => string): Break =>
  changingResponses(async ({ request, response }) =>
    request.method === 'GET' && response.status === 200
      ? new Response(change(await response.text()), response)
      : response,
  );

/** Changes a field of those responses that have it. */
const changingField = (name: string, change: (value: string, exchange: Exchange) => string): Break =>
  changingResponses((exchange) => {
    const changed = new Response(exchange.response.body, exchange.response);
    const value = changed.headers.get(name);
    if (value !== null) changed.headers.set(name, change(value, exchange));
    return changed;
  });

/** Removes the optional fields, which announce every window. */
function withoutPolicies(response: Response): Response {
  for (const name of ['RateLimit-Policy', 'RateLimit']) response.headers.delete(name);
  return response;
}

/** Returns the orders of a list, each as JSON. */
const ordersIn = (list: string) => list.slice(1, -1).split(/,(?=\{)/);

/**
 * Servers with common mistakes, each with the audit that it must fail. `promises/testing/objections`
 * shows what each audit says of responses with a wrong status or field. These mistakes are others, or
 * show that the audit sends a request on which the mistake can be seen.
 */
const BROKEN: Readonly<Record<string, readonly [audit: string, Break]>> = {
  'lists only the last 100 orders': ['4.1-list', changingLists((text) => `[${ordersIn(text).slice(-100)}]`)],
  'rounds the numbers in the list to doubles': ['4.1-list', changingLists((text) => JSON.stringify(JSON.parse(text)))],
  'sorts the ids in the list as text': ['4.1-ascending', changingLists((text) => `[${ordersIn(text).sort()}]`)],
  'lists negative ids last': [
    '4.1-ascending',
    changingLists((text) => `[${ordersIn(text).sort((a, b) => Number(a.includes(':-')) - Number(b.includes(':-')))}]`),
  ],
  'lists absent fields as null': ['4.1-absent', changingLists((text) => text.replaceAll('}', ',"shipDate":null}'))],
  'lists the status of orders': ['4.1-absent', changingLists((text) => text.replaceAll('}', ',"status":"shipped"}'))],
  'lists a page if the query asks for one': [
    '4.1-no-parameters',
    changingResponses(({ request, response }) =>
      request.url.includes('limit=1') ? Response.json([], response) : response,
    ),
  ],
  'refuses every If-Match': [
    '4.2-if-match',
    changingRequests((request) =>
      withFields(request, (fields) => fields.has('If-Match') && fields.set('If-Match', '"a"')),
    ),
  ],
  'refuses a request with a JSON Content-Type and no body': [
    '4.2-json',
    (fetch) => (request) =>
      request.headers.get('Content-Type') === 'application/json' ? new Response('', { status: 400 }) : fetch(request),
  ],
  'redirects to a page that does not exist': [
    '4-path',
    // Like fetch, returns the page instead of the redirect if the request allows following it.
    changingResponses(({ request, response }) =>
      response.status === 404 && request.redirect === 'manual' ? Response.redirect(request.url, 302) : response,
    ),
  ],
  'challenges a client without a key as if its key was invalid': [
    '5-challenge',
    changingField('WWW-Authenticate', () => 'Bearer error="invalid_token"'),
  ],
  'does not say in the challenge that the key is invalid': [
    '5-challenge',
    changingField('WWW-Authenticate', () => 'Bearer'),
  ],
  'repeats the API key in its errors': [
    '5-invalid',
    changingResponses(({ request, response }) => {
      const error = { code: 'invalid', message: `no: ${request.headers.get('Authorization')}`, status: 401 };
      return response.status === 401 ? Response.json(error, response) : response;
    }),
  ],
  'accepts the scheme Bearer in one spelling only': [
    '5-scheme',
    changingRequests((request) =>
      withFields(request, (fields) => {
        if (!fields.get('Authorization')?.startsWith('Bearer ')) fields.delete('Authorization');
      }),
    ),
  ],
  'sends a Retry-After that is too short unless a second of the clock begins': [
    '8-retry-after',
    changingField('Retry-After', (seconds, { service }) =>
      service.clock.nowMs() % 1_000 === 0 ? seconds : `${Math.max(1, Number(seconds) - 1)}`,
    ),
  ],
  'sends Retry-After: 0': ['8-429', changingField('Retry-After', () => '0')],
  'rounds a long Retry-After up to tens of seconds': [
    '8-retry-early',
    changingField('Retry-After', (seconds) =>
      seconds.length > 1 ? `${Math.ceil(Number(seconds) / 10) * 10}` : seconds,
    ),
  ],
  'announces the day quota of Free for every plan': [
    '8-plans-day',
    changingField('RateLimit-Policy', () => '"day";q=1000;w=86400, "minute";q=60;w=60'),
  ],
  'neither announces a day quota nor has one': [
    '8-plans-day',
    changingResponses(({ response }) =>
      Number(response.headers.get('Retry-After')) > 60 ? new Response() : withoutPolicies(response),
    ),
  ],
  'never changes X-RateLimit-Reset': ['8-reset', changingField('X-RateLimit-Reset', () => '2000000000')],
  ...Object.fromEntries(
    ['petId', 'quantity', 'shipDate', 'complete'].map((name) => {
      const value = new RegExp(`(?<="${name}":)[^,}]+`);
      return [`lists another ${name}`, ['4.1-list', changingLists((text) => text.replace(value, '""'))] as const];
    }),
  ),
};

suite('the audits', () => {
  test('audits have unique ids, and names that state their requirement level', () => {
    const audits = serviceAudits(createTestService());
    assert.equal(new Set(audits.map(({ id }) => id)).size, audits.length);
    for (const { id, level, name } of audits) assert.ok(name.startsWith(`${id}: ${level} `));
  });

  test('the audits do not read a url that a getter returns later, and name an option that is missing', () => {
    const { apiKey, url } = createTestService();
    const later = { apiKey, url: '' };
    Object.defineProperty(later, 'url', { get: () => assert.fail('no server listens yet') });
    assert.ok(serviceAudits(later).length > 0);
    const audit = (...target: unknown[]) => Reflect.apply(serviceAudits, undefined, target);
    assert.throws(() => audit(), /^TypeError: url: expected a string$/);
    assert.throws(() => audit({ url }), /^TypeError: apiKey: expected a string$/);
  });

  test('all audits pass for the order service, even in reverse order', async () => {
    assert.deepEqual(await failures(serviceAudits(createTestService()).reverse()), []);
  });

  test('the audits allow any message, no Content-Length of a GET, no RateLimit-Policy, and that a 401 costs nothing', async () => {
    const lenient = changingResponses(async ({ request, response }) => {
      const text = (await response.text()).replace('"message":"', '"message":"= ');
      const changed = withoutPolicies(new Response(response.status === 204 ? null : text, response));
      const fields = changed.headers;
      if (request.method === 'GET') fields.delete('Content-Length');
      if (response.status === 401) fields.set('X-RateLimit-Remaining', fields.get('X-RateLimit-Limit') ?? '');
      return changed;
    });
    assert.deepEqual(await failures(auditsOf(lenient)), []);
  });

  test('with only the options url and apiKey, some audits can run and pass by the global fetch', async (t) => {
    const { url, apiKey, fetch } = createTestService();
    t.mock.method(globalThis, 'fetch', fetch);
    const bare = serviceAudits({ url, apiKey }).filter(({ skip }) => skip === undefined);
    assert.ok(bare.length >= 7, `${bare.length}`);
    assert.deepEqual(await failures(bare), []);
  });

  for (const [how, [expected, breaks]] of Object.entries(BROKEN)) {
    test(`${expected} fails for a server that ${how}`, () => assertFail(auditsOf(breaks), new RegExp(`^${expected}:`)));
  }
});
