import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Audit, createTestService, serviceAudits, type TestService } from 'store-orders/testing';
import { failures } from '../support/failures.js';

type Fetch = (request: Request) => Response | Promise<Response>;
type Break = (fetch: Fetch, service: TestService) => Fetch;

function auditsOf(breaks: Break): readonly Audit[] {
  const service = createTestService();
  return serviceAudits({ ...service, fetch: breaks(service.fetch, service) });
}

interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly service: TestService;
}

const changingRequests =
  (change: (request: Request, service: TestService) => Request): Break =>
  (fetch, service) =>
  (request) =>
    fetch(change(request, service));

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

const changingFields = (change: (fields: Headers, exchange: Exchange) => void): Break =>
  changingResponses((exchange) => {
    const changed = new Response(exchange.response.body, exchange.response);
    change(changed.headers, exchange);
    return changed;
  });

const replacing = (status: number, replace: (response: Response) => Response): Break =>
  changingResponses(({ response }) => (response.status === status ? replace(response) : response));

const changingLists = (change: (text: string, service: TestService) => string): Break =>
  changingResponses(async ({ request, response, service }) =>
    request.method === 'GET' && response.status === 200
      ? new Response(change(await response.text(), service), response)
      : response,
  );

/** Servers with common mistakes, each with audits that it must fail. */
const BROKEN: Readonly<Record<string, readonly [readonly string[], Break]>> = {
  'parses order ids with Number': [
    ['4.2-int64', '4.2-no-id'],
    changingRequests((request) => {
      const parse = (id: string) => (Number.isFinite(Number(id)) ? `${BigInt(Number(id))}` : id);
      return new Request(request.url.replace(/[^/]+$/, parse), request);
    }),
  ],
  'decodes paths': [
    ['4.2-no-id', '4-path'],
    changingRequests((request) => new Request(decodeURIComponent(request.url), request)),
  ],
  'cancels an order even if its path ends with a slash': [
    ['4-path'],
    changingRequests((request) =>
      request.method === 'DELETE' ? new Request(request.url.replace(/\/$/, ''), request) : request,
    ),
  ],
  'rounds the numbers in the list to doubles': [
    ['4.1-list'],
    changingLists((text) => JSON.stringify(JSON.parse(text))),
  ],
  'ignores If-Match': [
    ['4.2-if-match'],
    changingRequests((request) => withFields(request, (fields) => fields.delete('If-Match'))),
  ],
  'refuses a request with a JSON Content-Type and no body': [
    ['4.2-json'],
    (fetch) => (request) =>
      request.headers.get('Content-Type') === 'application/json' ? new Response('', { status: 400 }) : fetch(request),
  ],
  'responds to a cancel with 200 and a body': [
    ['4.2-cancel'],
    replacing(204, ({ headers }) => new Response('{}', { headers })),
  ],
  'cancels shipped orders': [
    ['3-shipped', '3-pending-only', '4.2-once'],
    replacing(409, ({ headers }) => new Response(null, { status: 204, headers })),
  ],
  'hides cancelled orders': [
    ['4.2-listed'],
    changingLists((text, { store }) =>
      text.replace(/\{"id":(-?\d+)[^}]*\},?/g, (order, id) =>
        store.get(BigInt(id))?.status === 'cancelled' ? '' : order,
      ),
    ),
  ],
  'sends errors as plain text': [
    ['5-missing', '4.2-not-found'],
    changingFields((fields, { response }) => {
      if (response.status >= 400) fields.set('Content-Type', 'text/plain');
    }),
  ],
  'sends an Error without a message': [
    ['5-missing'],
    replacing(401, ({ headers }) => new Response('{"code":"no","status":401}', { status: 401, headers })),
  ],
  'sends errors without limit fields': [
    ['8-headers'],
    changingFields((fields, { response }) => {
      if (response.status === 404) fields.delete('X-RateLimit-Reset');
    }),
  ],
  'sends a 401 without WWW-Authenticate': [
    ['5-challenge'],
    changingFields((fields) => fields.delete('WWW-Authenticate')),
  ],
  'challenges a client to use another scheme than Bearer': [
    ['5-challenge'],
    changingFields((fields) => {
      const challenge = fields.get('WWW-Authenticate');
      if (challenge !== null) fields.set('WWW-Authenticate', challenge.replace('Bearer', 'Basic'));
    }),
  ],
  'redirects to a page that does not exist': [
    ['4-path'],
    // Like fetch, returns the page instead of the redirect if the request allows following it.
    changingResponses(({ request, response }) =>
      response.status === 404 && request.redirect === 'manual' ? Response.redirect(request.url, 302) : response,
    ),
  ],
  'sends a 405 without Allow': [['4-method'], changingFields((fields) => fields.delete('Allow'))],
  'responds to every OPTIONS with 204 and Allow': [
    ['4-method'],
    changingResponses(({ request, response }) =>
      request.method === 'OPTIONS' ? new Response(null, { status: 204, headers: response.headers }) : response,
    ),
  ],
  'accepts the scheme Bearer in one spelling only': [
    ['5-scheme'],
    changingRequests((request) =>
      withFields(request, (fields) => {
        if (!fields.get('Authorization')?.startsWith('Bearer ')) fields.delete('Authorization');
      }),
    ),
  ],
  'accepts a request with two API keys': [
    ['5-two'],
    changingRequests((request) =>
      withFields(request, (fields) => fields.set('Authorization', fields.get('Authorization')?.split(', ')[0] ?? '')),
    ),
  ],
  'sends a Retry-After that is too short': [
    ['8-retry-after'],
    changingFields((fields) => {
      const seconds = Number(fields.get('Retry-After'));
      if (seconds > 1) fields.set('Retry-After', `${seconds - 1}`);
    }),
  ],
  'sends Retry-After: 0': [
    ['8-429'],
    changingFields((fields) => {
      if (fields.has('Retry-After')) fields.set('Retry-After', '0');
    }),
  ],
  'changes X-RateLimit-Reset with every request': [
    ['8-reset'],
    changingFields((fields, { service }) =>
      fields.set('X-RateLimit-Reset', `${Math.ceil(service.clock.nowMs() / 1_000) + 60}`),
    ),
  ],
  'does not count HEAD requests': [
    ['8-every-request-costs'],
    changingRequests((request, { issueKey }) =>
      request.method === 'HEAD'
        ? withFields(request, (fields) => fields.set('Authorization', `Bearer ${issueKey()}`))
        : request,
    ),
  ],
  'cancels an order even when it responds with 429': [
    ['8-refused-does-nothing'],
    changingResponses(({ request: { method, url }, response, service }) => {
      const id = url.slice(url.lastIndexOf('/') + 1);
      if (method === 'DELETE' && response.status === 429) service.store.cancel(BigInt(id));
      return response;
    }),
  ],
};

suite('the audits', () => {
  test('audits have unique ids, and names that state their requirement level', () => {
    const audits = serviceAudits(createTestService());
    assert.equal(new Set(audits.map(({ id }) => id)).size, audits.length);
    for (const { id, level, name } of audits) assert.ok(name.startsWith(`${id}: ${level} `));
  });

  test('all audits pass for the order service, even in reverse order', async () => {
    assert.deepEqual(await failures(serviceAudits(createTestService()).reverse()), []);
  });

  test('the audits do not require a Content-Length for HEAD if the response to GET has none', async () => {
    const streaming = changingFields((fields, { request }) => {
      if (request.method === 'GET') fields.delete('Content-Length');
    });
    assert.deepEqual(await failures(auditsOf(streaming)), []);
  });

  test('with only the options url, apiKey and fetch, some audits can run and pass; the others name the missing options', async () => {
    const { url, apiKey, fetch } = createTestService();
    const audits = serviceAudits({ url, apiKey, fetch });
    const bare = audits.filter(({ skip }) => skip === undefined);
    assert.ok(bare.length >= 7, `${bare.length}`);
    assert.deepEqual(await failures(bare), []);
    assert.equal(audits.find(({ id }) => id === '8-refused-does-nothing')?.skip, 'needs issueKey and store and clock');
  });

  for (const [how, [expected, breaks]] of Object.entries(BROKEN)) {
    test(`audits fail for a server that ${how}`, async () => {
      const failed = (await failures(auditsOf(breaks))).map((name) => name.split(':')[0] ?? '');
      for (const id of expected) assert.ok(failed.includes(id), `${id} of ${failed.join(', ')}`);
    });
  }
});
