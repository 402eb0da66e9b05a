import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createTestService, serviceAudits } from 'store-orders/testing';
import {
  auditsOf,
  type BrokenServers,
  changingLists,
  changingRequests,
  changingResponses,
  testBrokenServers,
  withFields,
} from './audits/support/broken-servers.js';
import { failures } from './support/failures.js';

/** Returns the orders of a list, each as JSON. */
const ordersIn = (list: string) => list.slice(1, -1).split(/,(?=\{)/);

/** Servers with common mistakes, each with audits that it must fail. */
const BROKEN: BrokenServers = {
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
  'takes the id 9007199254740993 for its neighbour': [
    ['4.2-int64'],
    changingRequests((request) => new Request(request.url.replace(/740993$/, '740992'), request)),
  ],
  'lists only the last 100 orders': [['4.1-list'], changingLists((text) => `[${ordersIn(text).slice(-100)}]`)],
  'lists something that is not an order': [['4.1-list'], changingLists((text) => text.replace(/\]$/, ',null]'))],
  'sorts the ids in the list as text': [['4.1-ascending'], changingLists((text) => `[${ordersIn(text).sort()}]`)],
  'lists negative ids last': [
    ['4.1-ascending'],
    changingLists((text) => `[${ordersIn(text).sort((a, b) => Number(a.includes(':-')) - Number(b.includes(':-')))}]`),
  ],
  'lists absent fields as null': [['4.1-absent'], changingLists((text) => text.replaceAll('}', ',"shipDate":null}'))],
  'lists the status of orders': [['4.1-absent'], changingLists((text) => text.replaceAll('}', ',"status":"shipped"}'))],
  'lists a page if the query asks for one': [
    ['4.1-no-parameters'],
    changingResponses(({ request, response }) =>
      request.url.includes('limit=1') ? Response.json([], response) : response,
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
  'refuses every If-Match': [
    ['4.2-if-match'],
    changingRequests((request) =>
      withFields(request, (fields) => fields.has('If-Match') && fields.set('If-Match', '"a"')),
    ),
  ],
  'refuses a request with a JSON Content-Type and no body': [
    ['4.2-json'],
    (fetch) => (request) =>
      request.headers.get('Content-Type') === 'application/json' ? new Response('', { status: 400 }) : fetch(request),
  ],
  'hides cancelled orders': [
    ['4.2-listed'],
    changingLists((text, { store }) =>
      text.replace(/\{"id":(-?\d+)[^}]*\},?/g, (order, id) =>
        store.get(BigInt(id))?.status === 'cancelled' ? '' : order,
      ),
    ),
  ],
  'cancels an order even when it refuses the request': [
    ['4-method', '4-path', '4.2-if-match', '4.2-no-id', '5-ban', '5-invalid', '5-missing', '8-refused-does-nothing'],
    changingResponses(({ request, response, service }) => {
      const id = /\/store\/+orders\D*(\d+)/.exec(request.url)?.[1];
      if (id !== undefined && response.status >= 400) service.store.cancel(BigInt.asIntN(64, BigInt(id)));
      return response;
    }),
  ],
  'redirects to a page that does not exist': [
    ['4-path'],
    // Like fetch, returns the page instead of the redirect if the request allows following it.
    changingResponses(({ request, response }) =>
      response.status === 404 && request.redirect === 'manual' ? Response.redirect(request.url, 302) : response,
    ),
  ],
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

  test('each audit passes alone, on a service without orders', async () => {
    for (const { id } of serviceAudits(createTestService())) {
      assert.deepEqual(await failures(serviceAudits(createTestService()).filter((audit) => audit.id === id)), []);
    }
  });

  test('the audits allow any message, that the response to GET has no Content-Length, and that a 401 costs nothing', async () => {
    const lenient = changingResponses(async ({ request, response }) => {
      const text = (await response.text()).replace('"message":"', '"message":"= ');
      const changed = new Response(response.status === 204 ? null : text, response);
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

  testBrokenServers(BROKEN);
  for (const name of ['petId', 'quantity', 'shipDate', 'complete']) {
    const value = new RegExp(`(?<="${name}":)[^,}]+`);
    testBrokenServers({
      [`lists another ${name}`]: [['4.1-list'], changingLists((text) => text.replace(value, '""'))],
    });
  }
});
