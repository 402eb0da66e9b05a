import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, perMinute } from 'store-orders';
import { createManualClock } from 'store-orders/testing';
import { assertError, rateLimitOf } from '../../http/support/answer.js';
import { exchange, open, readText } from '../../http/support/raw-socket.js';
import { KEYED, KEYLESS } from './support/client.js';
import { listen } from './support/order-server.js';

const OWN = ['/openapi.json', '/docs', '/docs/base.css'];
const PROBES = ['/healthz', '/readyz'];

function addressPlan(quota: number) {
  return createPlan({ name: 'address', partition: 'address', policies: [perMinute(quota)] });
}

test('requests for the documentation are charged to the client’s address; health checks succeed even over the limit', async (t) => {
  const limiter = createMemoryLimiter({ clock: createManualClock() });
  const { origin } = await listen(t, { limiter, addressPlan: addressPlan(4) });
  for (const [index, path] of OWN.entries()) {
    const { status, headers } = await fetch(origin + path);
    const fields = [headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')];
    assert.deepEqual([status, ...fields], [200, '4', `${3 - index}`]);
  }
  assert.equal((await fetch(`${origin}/v1/store/orders`)).status, 401);
  for (const path of OWN) {
    const { status, headers } = await fetch(origin + path);
    assert.deepEqual([status, headers.get('retry-after'), headers.get('connection')], [429, '60', 'close'], path);
  }
  for (const path of PROBES) {
    const { status, headers } = await fetch(origin + path);
    assert.deepEqual([status, headers.get('connection'), headers.get('x-ratelimit-limit')], [200, 'close', '4']);
  }
});

test('a 429 to a request without a valid key closes the connection; a 401, or a 429 to a valid key, leaves it open', async (t) => {
  const plan = createPlan({ name: 'one', policies: [perMinute(1)] });
  const { port } = await listen(t, {
    addressPlan: addressPlan(2),
    authenticate: (apiKey) => (apiKey === 'ours' ? { id: 'us', plan } : undefined),
  });
  for (const [requests, expected] of [
    [KEYLESS.repeat(5), [401, 401, 429]],
    [KEYED.repeat(2) + KEYED.replace('Host', 'Connection: close\r\nHost'), [200, 429, 429]],
  ] as const) {
    const { answers } = await exchange(port, requests);
    const connections = answers.map(({ fields }) => fields.get('connection'));
    assert.deepEqual(
      [answers.map(({ status }) => status), connections],
      [expected, ['keep-alive', 'keep-alive', 'close']],
    );
  }
});

test('for documentation and health checks, a second Host field is refused, and a request body closes the connection', async (t) => {
  const { port } = await listen(t);
  for (const [index, path] of [...OWN, ...PROBES].entries()) {
    const hosts = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`);
    const [refused = assert.fail()] = hosts.answers;
    assertError(refused, 'bad_request');
    assert.equal(rateLimitOf(refused).remaining, 599 - 2 * index, path);
    // `readText` returns only if the server closes the connection.
    const text = await readText(open(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`));
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)*Connection: close\r\n/, path);
  }
});

test('documentation and health check responses have the request id, and are published on the diagnostics channel unless a health check succeeds', async (t) => {
  const published: string[] = [];
  const listener = (message: unknown) => {
    const { path, status, code, error, requestId } = Object(message);
    published.push([path, status, code, error, requestId].join(' '));
  };
  subscribe('store-orders:reply', listener);
  t.after(() => unsubscribe('store-orders:reply', listener));
  let isUp = true;
  const { origin } = await listen(t, {
    addressPlan: addressPlan(100),
    backends: { database: () => (isUp ? 'ok' : 'unavailable') },
  });
  async function ask(path: string, method = 'GET') {
    const headers = { 'X-Request-Id': `id-of-${path}` };
    const response = await fetch(origin + path, { method, headers, redirect: 'manual' });
    assert.equal(response.headers.get('x-request-id'), `id-of-${path}`, path);
    if (response.status === 405) assert.equal(response.headers.get('allow'), 'GET, HEAD');
    const code = { 405: 'method_not_allowed', 503: 'service_unavailable' }[response.status] ?? '';
    return `${path} ${response.status} ${code}  id-of-${path}`;
  }
  const documents: string[] = [];
  for (const path of [...OWN, '/', '/favicon.ico']) documents.push(await ask(path));
  assert.deepEqual(published.splice(0), documents);
  for (const path of PROBES) await ask(path);
  assert.match((await fetch(`${origin}/healthz`)).headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
  assert.deepEqual(published, []);
  isUp = false;
  const failing = [await ask('/readyz'), await ask('/healthz', 'DELETE'), await ask('/docs', 'DELETE')];
  assert.deepEqual(published, failing);
});

test('the documentation is compressed for clients that accept it, and each encoding has its own ETag', async (t) => {
  const { origin } = await listen(t);
  for (const path of OWN) {
    const [plain, coded] = await Promise.all(
      ['identity', 'br'].map((coding) => fetch(origin + path, { headers: { 'accept-encoding': coding } })),
    );
    assert.deepEqual([plain?.headers.get('content-encoding'), coded?.headers.get('content-encoding')], [null, 'br']);
    assert.equal(await coded?.text(), await plain?.text());
    const tag = coded?.headers.get('etag') ?? '';
    const conditional = (coding: string) =>
      fetch(origin + path, {
        headers: { 'accept-encoding': coding, 'if-none-match': tag, 'cache-control': 'no-cache' },
      });
    assert.deepEqual([(await conditional('br')).status, (await conditional('identity')).status], [304, 200]);
    const failing = await fetch(origin + path, { headers: { 'if-match': '"other"' } });
    assert.deepEqual([failing.status, Object(await failing.json()).code], [412, 'precondition_failed']);
  }
});

test('concurrent readiness checks share one check of the backends', async (t) => {
  let asked = 0;
  let answer = (_: 'ok') => {};
  const database = () => {
    asked++;
    return new Promise<'ok'>((resolve) => {
      answer = resolve;
    });
  };
  const { origin } = await listen(t, { backends: { database } });
  const waiting = Array.from({ length: 20 }, () => fetch(`${origin}/readyz`));
  const late = fetch(`${origin}/healthz`);
  await late;
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(asked, 1);
  answer('ok');
  for (const response of await Promise.all(waiting)) assert.equal(response.status, 200);
});

test('/ and /docs/ redirect to the documentation page, and browsers cache the icon for a week', async (t) => {
  const { origin, port } = await listen(t);
  for (const path of ['/', '/docs/', '/?from=mail']) assert.equal((await fetch(origin + path)).url, `${origin}/docs`);
  // A server must accept the absolute form of a target (RFC 9112 §3.2.2).
  const absolute = open(port, `GET ${origin}/docs?a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  assert.match(await readText(absolute), /^HTTP\/1\.1 200 /);
  const icon = await fetch(`${origin}/favicon.ico`);
  assert.deepEqual([icon.status, icon.headers.get('cache-control')], [204, 'public, max-age=604800']);
  assert.ok(icon.headers.has('x-ratelimit-limit'));
});
