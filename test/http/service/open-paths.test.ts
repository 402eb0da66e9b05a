import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import { test } from 'node:test';
import {
  addressPerMinute,
  createMemoryLimiter,
  errorObject,
  fixedPath,
  nodeHandler,
  type OpenPath,
  type ReplyMessage,
} from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { createManualClock } from 'store-orders/testing';
import { listenOnFreePort } from '../../support/listen.js';
import { createDeferred } from '../../support/until.js';
import { createShop } from '../support/shop.js';

/** Serves these paths in addition to the orders. An address may send two requests a minute, or `perMinute`. */
function shopWith(paths: Readonly<Record<string, OpenPath>>, perMinute = 2) {
  const messages: ReplyMessage[] = [];
  const limiter = createMemoryLimiter({ clock: createManualClock() });
  const onReply = (message: ReplyMessage) => messages.push(message);
  const { service } = createShop({ limiter, paths, addressPlan: addressPerMinute(perMinute), onReply });
  const handle = fetchHandler(service, { clientAddress: () => '192.0.2.1' });
  return {
    messages,
    service,
    ask: async (path: string, init?: RequestInit) => {
      const response = await handle(new Request(`https://shop.example${path}`, init));
      return { status: response.status, headers: response.headers, text: await response.text() };
    },
  };
}

const status: OpenPath = { perform: () => ({ status: 200, fields: ['Content-Type', 'text/plain'], body: 'café' }) };

test('a path of the host needs no key, has the limit fields of its address, and is refused over its limit', async () => {
  const { ask, service, messages } = shopWith({ '/status': status });
  assert.deepEqual([service.owns('/status?a'), service.owns('/other'), service.owns('/status/')], [true, false, false]);
  const { headers, ...rest } = await ask('/status?a');
  assert.deepEqual(rest, { status: 200, text: 'café' });
  assert.deepEqual([headers.get('content-length'), headers.get('x-ratelimit-remaining')], ['5', '1']);
  const wrong = await ask('/status', { method: 'POST' });
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD']);
  const refused = await ask('/status');
  assert.deepEqual([refused.status, JSON.parse(refused.text)], [429, errorObject('rate_limit_exceeded')]);
  assert.deepEqual(
    messages.map((message) => [message.path, message.status, message.plan, message.operation]),
    [200, 405, 429].map((replied) => ['/status', replied, 'address', undefined]),
  );
});

test('a path that is always served responds over the limit of its address too, and a HEAD request gets no body', async () => {
  const { ask, messages } = shopWith({ '/live': { ...status, isAlwaysServed: true } });
  for (const remaining of ['1', '0', '0']) {
    const { status, headers, text } = await ask('/live', { method: 'HEAD' });
    assert.deepEqual([status, headers.get('x-ratelimit-remaining'), text], [200, remaining, '']);
    assert.equal(headers.get('content-length'), '5');
  }
  assert.deepEqual(messages, [], 'probes do not fill the log');
});

test('a path of the host that fails leads to 503, and the error names the path', async () => {
  const failure = new Error('no disk');
  const { ask, messages } = shopWith({ '/status': { allow: undefined, perform: () => Promise.reject(failure) } });
  const { status, headers } = await ask('/status');
  assert.deepEqual([status, headers.get('retry-after'), messages[0]?.error], [503, '1', failure]);
});

test('every part of a path and of its outcome but the status can be undefined, as in hosts with exact optional types', async () => {
  const perform = () => ({ status: 204, fields: undefined, body: undefined, code: undefined });
  const { ask } = shopWith({ '/empty': { allow: undefined, isAlwaysServed: undefined, perform } });
  assert.equal((await ask('/empty')).status, 204);
});

test('after close, a path is served only if it is always served', async () => {
  const { ask, service } = shopWith({ '/status': status, '/live': { ...status, isAlwaysServed: true } });
  await service.close();
  assert.deepEqual([(await ask('/status')).status, (await ask('/live')).status], [503, 200]);
});

test('close waits for a path that has not responded', async () => {
  const begun = createDeferred<{ status: number }>();
  const { ask, service } = shopWith({ '/slow': { perform: () => begun.promise } });
  const asked = ask('/slow');
  let isClosed = false;
  const closed = service.close().then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  assert.equal(isClosed, false);
  begun.resolve({ status: 204 });
  await closed;
  assert.equal((await asked).status, 204);
});

test('an outcome that no server could write is a 500, and the server goes on', async (t) => {
  const outcomes: readonly unknown[] = [
    undefined,
    { status: 99 },
    { status: 101 },
    { status: '200' },
    { status: 200, fields: 'Content-Type' },
    { status: 200, fields: ['X-A'] },
    { status: 200, fields: ['X A', 'a'] },
    { status: 200, fields: ['X-A', 'a\r\nX-B: b'] },
    { status: 200, fields: ['X-A', '€'] },
    { status: 200, body: {} },
    { status: 200, body: null },
    { status: 200, body: new DataView(new ArrayBuffer(2)) },
    { status: 200, body: new Uint16Array([1]) },
  ];
  const rest = [...outcomes];
  const perform = () => (rest.length > 0 ? Object(rest.shift()) : { status: 200, fields: ['X-A', 'é'], body: 'on' });
  const { service, messages } = shopWith({ '/a': { perform } }, 600);
  const server = createServer(nodeHandler(service));
  const url = `http://127.0.0.1:${await listenOnFreePort(server)}/a`;
  t.after(() => server.close());
  for (const outcome of outcomes) assert.equal((await fetch(url)).status, 500, JSON.stringify(outcome));
  for (const { error } of messages) assert.match(`${error}`, /^TypeError: perform returned /);
  assert.equal(messages.length, outcomes.length);
  assert.equal(await (await fetch(url)).text(), 'on');
});

test('an outcome whose status has no content is sent without its body, also by the fetch handler', async (t) => {
  const statuses = [204, 205, 304];
  const paths = Object.fromEntries(
    statuses.map((status): [string, OpenPath] => [`/${status}`, { perform: () => ({ status, body: 'a' }) }]),
  );
  const { ask, service } = shopWith(paths, 600);
  const server = createServer(nodeHandler(service));
  const origin = `http://127.0.0.1:${await listenOnFreePort(server)}`;
  t.after(() => server.close());
  for (const status of statuses) {
    const responses = [await ask(`/${status}`), await fetch(`${origin}/${status}`)];
    const heads = responses.map((response) => [response.status, response.headers.get('content-length')]);
    assert.deepEqual(heads, Array(2).fill([status, null]));
  }
});

test('a field that comes several times is sent several times, also over HTTP/2', async (t) => {
  const fields = ['Set-Cookie', 'a=1', 'set-cookie', 'b=2'];
  const { service } = shopWith({ '/a': { perform: () => ({ status: 200, fields, body: 'a' }) } });
  const server = createHttp2Server(nodeHandler(service));
  const session = connect(`http://127.0.0.1:${await listenOnFreePort(server)}`);
  t.after(() => {
    session.destroy();
    server.close();
  });
  const [headers] = await once(session.request({ ':path': '/a' }), 'response');
  assert.deepEqual(headers['set-cookie'], ['a=1', 'b=2']);
});

test('a middleware takes the paths of the service from the host, and passes all others on', async (t) => {
  const handler = nodeHandler(shopWith({ '/status': status }).service);
  const server = createServer((request, response) => handler(request, response, () => response.end('host')));
  const origin = `http://127.0.0.1:${await listenOnFreePort(server)}`;
  t.after(() => server.close());
  assert.equal(await (await fetch(`${origin}/status`)).text(), 'café');
  assert.equal(await (await fetch(`${origin}/`)).text(), 'host');
});

test('fixed content has an ETag, is compressed, and is made once for all first requests', async () => {
  const made = createDeferred<string>();
  let calls = 0;
  const make = () => {
    calls++;
    return made.promise;
  };
  const { ask } = shopWith({ '/page': fixedPath('text/html; charset=utf-8', make, ['X-Frame-Options', 'DENY']) });
  const asked = [ask('/page'), ask('/page', { headers: { 'Accept-Encoding': 'gzip' } })];
  made.resolve('<p>ü</p>'.repeat(500));
  const [plain = assert.fail(), gzip = assert.fail()] = await Promise.all(asked);
  assert.equal(calls, 1);
  const fields = ['content-type', 'x-frame-options', 'cache-control', 'content-length', 'content-encoding'];
  const fieldsOf = ({ headers }: { readonly headers: Headers }) => fields.map((name) => headers.get(name));
  assert.deepEqual(fieldsOf(plain), ['text/html; charset=utf-8', 'DENY', 'no-cache', '4500', null]);
  assert.deepEqual(fieldsOf(gzip).slice(4), ['gzip']);
});

test('fixed content that could not be made is made again; a client that has it gets 304', async () => {
  const contents = [new Error('not yet'), 'now'];
  const path = fixedPath('text/plain', async () => {
    const next = contents.shift();
    if (typeof next === 'string') return next;
    throw next;
  }, ['Cache-Control', 'max-age=60']);
  const { ask } = shopWith({ '/a': { ...path, isAlwaysServed: true } });
  assert.equal((await ask('/a')).status, 503);
  const { status, headers } = await ask('/a');
  assert.equal(status, 200);
  const again = await ask('/a', { headers: { 'If-None-Match': headers.get('etag') ?? '' } });
  assert.deepEqual([again.status, again.headers.get('cache-control')], [304, 'max-age=60']);
});
