import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createMemoryLimiter, createOrderService, PLANS } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { type Audit, type AuditTarget, createTestService, serviceAudits, type TestService } from 'store-orders/testing';
import { fakeStore } from '../../support/fake-store.js';
import { failures } from '../support/failures.js';

type Fetch = (request: Request) => Response | Promise<Response>;
type Break = (fetch: Fetch, service: TestService) => Fetch;

/** Returns the ids of the audits that fail. */
async function failedIds(audits: readonly Audit[]): Promise<readonly string[]> {
  return (await failures(audits)).map((name) => name.split(':')[0] ?? '');
}

const answering =
  (change: (response: Response, request: Request) => Promise<Response> | Response): Break =>
  (fetch) =>
  async (request) =>
    change(await fetch(request), request);

const replacing = (status: number, replace: (response: Response) => Response): Break =>
  answering((response) => (response.status === status ? replace(response) : response));

const listing = (change: (text: string) => string): Break =>
  answering(async (response, { method }) =>
    method === 'GET' && response.status === 200 ? new Response(change(await response.text()), response) : response,
  );

function withHeaders({ status, body, headers }: Response, change: (headers: Headers) => void): Response {
  const changed = new Headers(headers);
  change(changed);
  return new Response(body, { status, headers: changed });
}

function rewritten(request: Request, rewrite: (url: string) => string): Request {
  return new Request(rewrite(request.url), { method: request.method, headers: request.headers });
}

const last = (url: string) => url.slice(url.lastIndexOf('/') + 1);

/** Servers with common mistakes, each with the audits that it must fail. */
const BROKEN: Readonly<Record<string, readonly [readonly string[], Break]>> = {
  'parses order ids with Number': [
    ['4.2-int64', '4.2-no-id'],
    (fetch) => (request) =>
      fetch(
        rewritten(request, (url) =>
          url.replace(/[^/]+$/, (id) => (Number.isFinite(Number(id)) ? `${BigInt(Number(id))}` : id)),
        ),
      ),
  ],
  'decodes paths': [['4.2-no-id', '4-path'], (fetch) => (request) => fetch(rewritten(request, decodeURIComponent))],
  'rounds the numbers in the list to doubles': [['4.1-list'], listing((text) => JSON.stringify(JSON.parse(text)))],
  'ignores If-Match': [
    ['4.2-if-match'],
    (fetch) => (request) => {
      const headers = new Headers(request.headers);
      headers.delete('If-Match');
      return fetch(new Request(request, { headers }));
    },
  ],
  'refuses a request with a JSON Content-Type and no body': [
    ['4.2-json'],
    (fetch) => (request) =>
      request.headers.get('content-type') === 'application/json' ? new Response('', { status: 400 }) : fetch(request),
  ],
  'responds to a cancel with 200 and a body': [
    ['4.2-cancel'],
    replacing(204, ({ headers }) => new Response('{}', { headers })),
  ],
  'cancels shipped orders': [
    ['3-shipped', '3-pending-only'],
    replacing(409, ({ headers }) => new Response(null, { status: 204, headers })),
  ],
  'hides cancelled orders': [
    ['4.2-listed'],
    (fetch, service) => {
      const isHidden = (id: string) => service.store.get(BigInt(id))?.status === 'cancelled';
      const hide = (order: string, id: string) => (isHidden(id) ? '' : order);
      return listing((text) => text.replace(/\{"id":(-?\d+)[^}]*\},?/g, hide))(fetch, service);
    },
  ],
  'sends errors as plain text': [
    ['5-missing', '4.2-not-found'],
    answering((response) =>
      response.status >= 400
        ? new Response('no', { status: response.status, headers: { 'Content-Type': 'text/plain' } })
        : response,
    ),
  ],
  'sends errors without limit fields': [
    ['8-headers'],
    replacing(404, (response) => withHeaders(response, (headers) => headers.delete('X-RateLimit-Reset'))),
  ],
  'sends a 401 without WWW-Authenticate': [
    ['5-challenge'],
    answering((response) => withHeaders(response, (headers) => headers.delete('WWW-Authenticate'))),
  ],
  'sends a 405 without Allow': [
    ['4-method'],
    answering((response) => withHeaders(response, (headers) => headers.delete('Allow'))),
  ],
  'accepts the scheme Bearer in one spelling only': [
    ['5-scheme'],
    (fetch) => (request) =>
      request.headers.get('authorization')?.startsWith('Bearer ') === false
        ? fetch(new Request(request.url, { method: request.method }))
        : fetch(request),
  ],
  'accepts a request with two API keys': [
    ['5-two'],
    (fetch) => (request) => {
      const headers = new Headers(request.headers);
      headers.set('Authorization', headers.get('Authorization')?.split(', ')[0] ?? '');
      return fetch(new Request(request.url, { method: request.method, headers }));
    },
  ],
  'sends a Retry-After that is too short': [
    ['8-retry-after'],
    answering((response) =>
      withHeaders(response, (headers) => {
        const seconds = Number(headers.get('Retry-After'));
        if (seconds > 1) headers.set('Retry-After', `${seconds - 1}`);
      }),
    ),
  ],
  'sends Retry-After: 0': [
    ['8-429'],
    answering((response) =>
      withHeaders(response, (headers) => headers.has('Retry-After') && headers.set('Retry-After', '0')),
    ),
  ],
  'changes X-RateLimit-Reset with every request': [
    ['8-reset'],
    (fetch, { clock }) =>
      async (request) =>
        withHeaders(await fetch(request), (headers) =>
          headers.set('X-RateLimit-Reset', `${Math.ceil(clock.nowMs() / 1_000) + 60}`),
        ),
  ],
  'does not count HEAD requests': [
    ['8-every-request-costs'],
    (fetch, { apiKey }) =>
      async (request) => {
        if (request.method !== 'HEAD') return fetch(request);
        const headers = { Authorization: `Bearer ${apiKey}` };
        return withHeaders(await fetch(new Request(request.url, { method: 'HEAD', headers })), () => {});
      },
  ],
  'cancels an order even when it responds with 429': [
    ['8-refused-does-nothing'],
    (fetch, { store }) =>
      async (request) => {
        const response = await fetch(request);
        if (request.method === 'DELETE' && response.status === 429) store.cancel(BigInt(last(request.url)));
        return response;
      },
  ],
};

const target = (): AuditTarget => createTestService();

suite('the audits', () => {
  test('audits have unique ids, and names that state their requirement level', () => {
    const audits = serviceAudits(target());
    assert.equal(new Set(audits.map(({ id }) => id)).size, audits.length);
    for (const { id, level, name } of audits) assert.ok(name.startsWith(`${id}: ${level} `));
  });

  test('all audits pass for the order service, even in reverse order', async () => {
    assert.deepEqual(await failures(serviceAudits(target()).reverse()), []);
  });

  test('the audits do not require a Content-Length for HEAD if the response to GET has none', async () => {
    async function* list() {
      yield '{"id":1}';
      await new Promise(setImmediate);
      yield '{"id":2}';
    }
    for (const createList of [list, () => ({ version: 1, [Symbol.asyncIterator]: list })]) {
      const { url, apiKey } = createTestService();
      const service = createOrderService({
        store: fakeStore({ list: createList }),
        limiter: createMemoryLimiter(),
        authenticate: (key) => (key === apiKey ? { id: 'auditor', plan: PLANS.business } : undefined),
      });
      const audits = serviceAudits({ url, apiKey, fetch: fetchHandler(service) });
      assert.deepEqual(await failures(audits.filter(({ id }) => id === '4.1-head')), []);
    }
  });

  test('with only the options url, apiKey and fetch, some audits can run and pass; the others name the missing options', async () => {
    const { url, apiKey, fetch } = createTestService();
    const audits = serviceAudits({ url, apiKey, fetch });
    const bare = audits.filter(({ skip }) => skip === undefined);
    assert.ok(bare.length >= 7, `${bare.length}`);
    assert.deepEqual(await failures(bare), []);
    assert.equal(audits.find(({ id }) => id === '8-refused-does-nothing')?.skip, 'needs issueKey and store and clock');
  });

  test('the name of a failed audit says what the server must do', async () => {
    const service = createTestService();
    const [, breaks] = BROKEN['cancels shipped orders'] ?? assert.fail();
    const failed = await failures(serviceAudits({ ...service, fetch: breaks(service.fetch, service) }));
    const name = '4.2-once: MUST respond with 204 to exactly one of many concurrent DELETEs of one order';
    assert.ok(failed.includes(name), failed.join(', '));
  });

  for (const [how, [expected, breaks]] of Object.entries(BROKEN)) {
    test(`audits fail for a server that ${how}`, async () => {
      const service = createTestService();
      const failed = await failedIds(serviceAudits({ ...service, fetch: breaks(service.fetch, service) }));
      for (const id of expected) assert.ok(failed.includes(id), `${id} of ${failed.join(', ')}`);
    });
  }
});
