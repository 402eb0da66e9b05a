import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryLimiter, createPlan, perMinute, type RateLimiter } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { createOpenApiDocument } from 'store-orders/openapi';
import type { OrderServerOptions } from 'store-orders/server';
import { createTestService } from 'store-orders/testing';
import { listen as listenWith } from '../../server/support/order-server.js';
import { createDeferred } from '../../support/until.js';
import { createShop } from '../support/shop.js';

const SHOP = 'https://shop.example';

async function listen(t: TestContext, options: Partial<OrderServerOptions>) {
  const { origin } = await listenWith(t, options);
  const url = `${origin}/v1/store/orders`;
  return {
    get: (origin: string, key = 'ours') => fetch(url, { headers: { authorization: `Bearer ${key}`, origin } }),
    preflight: (origin: string, fields: Record<string, string> = { 'access-control-request-method': 'DELETE' }) =>
      fetch(`${url}/1`, { method: 'OPTIONS', headers: { origin, ...fields } }),
  };
}

/**
 * Returns the header fields of the OpenAPI document, except those that a page can always read (Fetch
 * Standard §2.2.2) and those that only its browser uses.
 */
function documentedFields(): readonly string[] {
  const others = ['Cache-Control', 'Content-Length', 'Content-Encoding', 'Vary', 'WWW-Authenticate'];
  return Object.keys(createOpenApiDocument().components.headers).filter((name) => !others.includes(name));
}

const variesBy = ({ headers }: Response) => /\bOrigin\b/.test(headers.get('vary') ?? '');
const allowed = ({ headers }: Response) => headers.get('access-control-allow-origin');

test('a page from an allowed origin can read every response and its limit fields, even if the response is an error', async (t) => {
  const { get } = await listen(t, { corsOrigins: ['http://localhost:3000', SHOP] });
  for (const [key, status] of [
    ['ours', 200],
    ['wrong', 401],
  ] as const) {
    const response = await get(SHOP, key);
    assert.deepEqual([response.status, allowed(response), variesBy(response)], [status, SHOP, true]);
    const exposed = response.headers.get('access-control-expose-headers')?.split(', ') ?? [];
    assert.deepEqual(exposed.toSorted(), documentedFields().toSorted());
  }
});

test('an origin can have the scheme of an app, and is refused unless it is exactly as browsers send it', async () => {
  const orders = [{ id: 1 }];
  for (const origin of ['capacitor://localhost', 'chrome-extension://abcdefgh', 'http://[::1]:3000', 'app://.']) {
    const { service } = createTestService({ orders, corsOrigins: [origin] });
    const rawHeaders = ['Origin', origin];
    const { headers } = await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders });
    assert.equal(headers[headers.indexOf('Access-Control-Allow-Origin') + 1], origin);
  }
  const apps = ['Capacitor://a', 'capacitor://a/', 'capacitor://ann@a', 'capacitor:a', 'app://a?b', 'app://a#b'];
  const sites = [`${SHOP}/`, `${SHOP}:443`, 'https://Shop.example', `blob:${SHOP}`, 'shop.example:80'];
  for (const origin of [...apps, ...sites, 'file://', 'null', '']) {
    assert.throws(() => createTestService({ corsOrigins: [origin] }), /^TypeError: corsOrigins: /, origin);
  }
});

test('the Vary field of a list is as documented', async (t) => {
  const { get } = await listen(t, { corsOrigins: [SHOP] });
  const { pattern } = createOpenApiDocument().components.headers['Vary']?.schema ?? {};
  assert.match((await get(SHOP)).headers.get('vary') ?? '', new RegExp(`${pattern}`));
});

test('a preflight request needs no key, is charged to the address of the client, and is allowed even if that is over its limit', async (t) => {
  const addressPlan = createPlan({ name: 'address', partition: 'address', policies: [perMinute(2)] });
  const { get, preflight } = await listen(t, { corsOrigins: [SHOP], addressPlan });
  for (const [remaining, connection] of [
    ['1', 'keep-alive'],
    ['0', 'keep-alive'],
    ['0', 'close'],
  ]) {
    const response = await preflight(SHOP);
    const field = (name: string) => response.headers.get(name);
    assert.deepEqual([response.status, allowed(response)], [204, SHOP]);
    assert.deepEqual([field('x-ratelimit-remaining'), field('connection')], [remaining, connection]);
    assert.equal(field('access-control-allow-methods'), '*');
    assert.equal(field('access-control-allow-headers'), 'Authorization, *');
    assert.equal(field('access-control-max-age'), '7200');
  }
  assert.equal((await preflight(SHOP, {})).status, 429, 'not a preflight request');
  assert.equal((await get(SHOP, 'stranger')).status, 429);
  assert.equal((await get(SHOP)).status, 200, 'the page with a valid key is served');
});

test('only pages from configured origins are allowed to read responses; by default, no origin is configured', async (t) => {
  const others = ['https://evil.example', `${SHOP}.evil.example`, 'null', 'HTTPS://SHOP.EXAMPLE'];
  for (const [corsOrigins, origins, expected, varies] of [
    [[SHOP], others, null, true],
    [undefined, [SHOP], null, false],
    [['*'], ['https://any.example', 'null'], '*', false],
  ] as const) {
    const { get, preflight } = await listen(t, { corsOrigins });
    for (const origin of origins) {
      const response = await get(origin);
      assert.deepEqual([response.status, allowed(response), variesBy(response)], [200, expected, varies], origin);
      const { status, headers } = await preflight(origin);
      assert.deepEqual([status, headers.get('access-control-allow-origin')], [expected === '*' ? 204 : 401, expected]);
    }
  }
});

test('a service has CORS in every mount: also for header fields that are only in `headers`, with one Vary', async () => {
  const { service } = createTestService({ orders: [{ id: 1 }], corsOrigins: [SHOP] });
  const head = { method: 'GET', url: '/v1/store/orders', rawHeaders: [], headers: { origin: SHOP } };
  const { headers } = await service.respond(head);
  assert.equal(headers[headers.indexOf('Access-Control-Allow-Origin') + 1], SHOP);
  const handle = fetchHandler(service);
  const request = new Request('https://api.example/v1/store/orders', {
    headers: { Authorization: 'Bearer test-1-key', Origin: SHOP },
  });
  const response = await handle(request);
  assert.deepEqual([response.status, response.headers.get('vary')], [200, 'Origin, Accept-Encoding']);
});

test('the response to a request without an origin can be given to a page by a cache', async () => {
  for (const [corsOrigins, origin, vary] of [
    [['*'], '*', 'Accept-Encoding'],
    [[SHOP], null, 'Origin, Accept-Encoding'],
  ] as const) {
    const { url, fetch, apiKey } = createTestService({ corsOrigins });
    const { headers } = await fetch(`${url}/store/orders`, { headers: { Authorization: `Bearer ${apiKey}` } });
    assert.deepEqual([headers.get('access-control-allow-origin'), headers.get('vary')], [origin, vary]);
  }
});

test('close waits for a preflight request', async () => {
  const taken = createDeferred<void>();
  const counting = createMemoryLimiter();
  const limiter: RateLimiter = { take: (key, plan) => taken.promise.then(() => counting.take(key, plan)) };
  const { service } = createShop({ limiter, corsOrigins: [SHOP] });
  const rawHeaders = ['Origin', SHOP, 'Access-Control-Request-Method', 'GET'];
  const events: string[] = [];
  const reply = service.respond({ method: 'OPTIONS', url: '/v1/store/orders', rawHeaders });
  const replied = Promise.resolve(reply).then(() => events.push('reply'));
  const closed = service.close().then(() => events.push('closed'));
  await new Promise(setImmediate);
  taken.resolve();
  await Promise.all([replied, closed]);
  assert.deepEqual(events, ['reply', 'closed']);
});
