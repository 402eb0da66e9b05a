import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, perMinute } from 'store-orders';
import type { Backends } from 'store-orders/server';
import { createManualClock } from 'store-orders/testing';
import { assertError, rateLimitOf } from '../http/support/answer.js';
import { exchange, open, readText } from '../http/support/raw-socket.js';
import { onReplies } from '../http/support/replies.js';
import { createDeferred, until } from '../support/until.js';
import { listen } from './support/order-server.js';
import { holdTimers } from './support/timers.js';

const OWN = ['/openapi.json', '/docs', '/docs/base.css'];
const PROBES = ['/healthz', '/readyz'];

test('requests for the documentation are charged to the client’s address; health checks succeed even over the limit', async (t) => {
  const limiter = createMemoryLimiter({ clock: createManualClock() });
  const addressPlan = createPlan({ name: 'address', partition: 'address', policies: [perMinute(4)] });
  const { origin } = await listen(t, { limiter, addressPlan });
  const ask = async (path: string) => {
    const { status, headers } = await fetch(origin + path);
    const [limit, remaining] = ['limit', 'remaining'].map((name) => headers.get(`x-ratelimit-${name}`));
    return [status, limit, remaining, headers.get('retry-after'), headers.get('connection')];
  };
  for (const [index, path] of OWN.entries()) {
    assert.deepEqual(await ask(path), [200, '4', `${3 - index}`, null, 'keep-alive'], path);
  }
  assert.equal((await ask('/v1/store/orders'))[0], 401);
  for (const path of OWN) assert.deepEqual(await ask(path), [429, '4', '0', '60', 'close'], path);
  for (const path of PROBES) assert.deepEqual(await ask(path), [200, '4', '0', null, 'close'], path);
});

test('for documentation and health checks, a second Host field or an invalid authority is refused, and a request body closes the connection', async (t) => {
  const { port } = await listen(t);
  for (const [index, path] of [...OWN, ...PROBES].entries()) {
    for (const [nth, head] of [
      `GET ${path} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`,
      `GET http://a:b:c${path} HTTP/1.1\r\nHost: x\r\n\r\n`,
    ].entries()) {
      const [refused = assert.fail()] = (await exchange(port, head)).answers;
      assertError(refused, 'bad_request');
      assert.equal(rateLimitOf(refused).remaining, 599 - 3 * index - nth, path);
    }
    // `readText` returns only if the server closes the connection.
    const text = await readText(open(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`));
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)*Connection: close\r\n/, path);
  }
});

test('documentation and health check responses have the request id, and are published on the diagnostics channel unless a health check succeeds', async (t) => {
  const published: string[] = [];
  t.after(onReplies(({ path, status, code, requestId }) => published.push(`${path} ${status} ${code} ${requestId}`)));
  let isUp = true;
  const { origin } = await listen(t, { backends: { database: () => (isUp ? 'ok' : 'unavailable') } });
  let nowMs = 0;
  t.mock.method(performance, 'now', () => (nowMs += 100));
  async function ask(path: string, method = 'GET', id = `${method}-${published.length}`) {
    const response = await fetch(origin + path, { method, headers: { 'X-Request-Id': id }, redirect: 'manual' });
    assert.equal(response.headers.get('x-request-id'), id, path);
    assert.equal(response.headers.get('allow'), method === 'DELETE' ? 'GET, HEAD' : null, path);
  }
  for (const path of ['/openapi.json', ...PROBES, '/docs', '/', '/favicon.ico']) await ask(path);
  assert.match((await fetch(`${origin}/healthz`)).headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
  isUp = false;
  await ask('/readyz');
  for (const path of ['/healthz', '/docs']) await ask(path, 'DELETE');
  assert.deepEqual(published, [
    '/openapi.json 200 undefined GET-0',
    '/docs 200 undefined GET-1',
    '/ 302 undefined GET-2',
    '/favicon.ico 204 undefined GET-3',
    '/readyz 503 service_unavailable GET-4',
    '/healthz 405 method_not_allowed DELETE-5',
    '/docs 405 method_not_allowed DELETE-6',
  ]);
});

test('the documentation is compressed, and clients revalidate each file by its ETag before each use', async (t) => {
  const { origin } = await listen(t);
  const tags = new Set<unknown>();
  for (const path of OWN) {
    const ask = async (fields = {}) => {
      const { status, headers } = await fetch(origin + path, { headers: { 'accept-encoding': 'br', ...fields } });
      return [status, ...['etag', 'cache-control', 'content-encoding'].map((name) => headers.get(name))];
    };
    const [status, tag, ...fields] = await ask();
    assert.deepEqual([status, ...fields], [200, 'no-cache', 'br']);
    assert.deepEqual(await ask({ 'if-none-match': tag }), [304, tag, 'no-cache', null]);
    tags.add(tag);
  }
  assert.equal(tags.size, OWN.length);
});

test('readiness checks that are concurrent or within a tenth of a second share one check of the backends, but see at once that the server drains', async (t) => {
  const checked = createDeferred<'ok'>();
  const database = t.mock.fn(() => checked.promise);
  const { server, origin, port } = await listen(t, { backends: { database } });
  let arrived = 0;
  server.on('request', () => arrived++);
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  const waiting = Array.from({ length: 20 }, () => fetch(`${origin}/readyz`));
  await until(() => arrived === 20);
  assert.equal(database.mock.callCount(), 1);
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  checked.resolve('ok');
  for (const response of await Promise.all(waiting)) assert.equal(response.status, 200);
  nowMs += 99;
  assert.equal((await fetch(`${origin}/readyz`)).status, 200);
  assert.equal(database.mock.callCount(), 1);
  nowMs++;
  assert.equal((await fetch(`${origin}/readyz`)).status, 200);
  assert.equal(database.mock.callCount(), 2);
  const socket = open(port, 'GET /readyz HTTP/1.1\r\nHost: x\r\n');
  await until(() => sockets.some((one) => one.remotePort === socket.localPort && one.bytesRead > 0));
  const drained = server.drain();
  socket.write('\r\n');
  assert.match(await readText(socket), /^HTTP\/1\.1 503 /);
  assert.equal(database.mock.callCount(), 2);
  await drained;
});

test('a backend whose check does not settle within ten seconds is unavailable, and the next probe checks it again', async (t) => {
  const errors: unknown[] = [];
  t.after(onReplies(({ error }) => errors.push(error)));
  const never = new Promise<never>(() => {});
  let calls = 0;
  const { server, port } = await listen(t, { backends: { database: () => (calls++ === 0 ? never : 'ok') } });
  let nowMs = 0;
  t.mock.method(performance, 'now', () => (nowMs += 100));
  const ask = () => readText(open(port, 'GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'));
  const runOut = holdTimers(t, 10_000);
  const asked = once(server, 'request');
  const stuck = ask();
  await asked;
  assert.equal(runOut(), 1);
  assert.match(await stuck, /^HTTP\/1\.1 503 .*"database":"unavailable"/s);
  assert.deepEqual(errors.map(String), ['Error: database: no state within ten seconds']);
  assert.match(await ask(), /^HTTP\/1\.1 200 /);
});

test('a probe that fails tells the diagnostics channel why, but not the client', async (t) => {
  const errors: unknown[] = [];
  t.after(onReplies(({ error }) => errors.push(error)));
  const backends: Backends = {
    database: () => Promise.reject(new Error('connection refused')),
    quotas: () => JSON.parse('"fine"'),
    mail: () => 'unavailable',
    disk: () => 'ok',
  };
  const { origin } = await listen(t, { backends });
  const response = await fetch(`${origin}/readyz`);
  assert.doesNotMatch(await response.text(), /refused|fine/);
  assert.deepEqual(errors.map(String), [
    "Error: database: connection refused; quotas: expected one of ok, degraded, unavailable, but its function returned 'fine'",
  ]);
});

test('/ and /docs/ redirect to the documentation page, and browsers cache the icon for a week', async (t) => {
  const { origin, port } = await listen(t);
  for (const path of ['/', '/docs/', '/?from=mail']) assert.equal((await fetch(origin + path)).url, `${origin}/docs`);
  // A server must accept the absolute form of a target (RFC 9112 §3.2.2).
  const absolute = open(port, `GET ${origin}/docs?a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  assert.match(await readText(absolute), /^HTTP\/1\.1 200 /);
  const redirection = await fetch(`${origin}/`, { redirect: 'manual' });
  assert.deepEqual([redirection.status, redirection.headers.get('content-length')], [302, '0']);
  const icon = await fetch(`${origin}/favicon.ico`);
  assert.deepEqual([icon.status, icon.headers.get('cache-control')], [204, 'public, max-age=604800']);
  assert.ok(icon.headers.has('x-ratelimit-limit'));
});
