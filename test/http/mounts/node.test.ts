import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, type RequestListener } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { test } from 'node:test';
import { nodeHandler } from 'store-orders/handler';
import { fakeStore } from '../../support/fake-store.js';
import { createDeferred, until } from '../../support/until.js';
import { assertError, checkAnswer, rateLimitOf } from '../support/answer.js';
import { get } from '../support/messages.js';
import { exchange, open, readText } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { askNode } from '../support/ways.js';
import { listening } from './support/mount.js';
import { serve } from './support/servers.js';
import { overHttp2 } from './support/tls-fetch.js';

const agent = new Agent();

test('a request for a path of the host goes to `next`, whatever its method, and is not charged', async (t) => {
  const handle = nodeHandler(createShop().service);
  const listener: RequestListener = (request, response) => void handle(request, response, () => response.end('host'));
  const port = await serve(t, createServer(listener));
  for (const path of ['/', '/v1/pets/1', `${ORDERS}/`, `${ORDERS}/1/2`, '/v2/store/orders', '*']) {
    for (const method of ['GET', 'DELETE', 'OPTIONS']) {
      assert.equal((await askNode({ agent, port }, method, path, [])).text, 'host', `${method} ${path}`);
    }
  }
  let remaining = 600;
  for (const [method, path] of [
    ['GET', ORDERS],
    ['GET', `${ORDERS}?page=1`],
    ['POST', ORDERS],
    ['DELETE', `${ORDERS}/abc`],
    ['DELETE', `http://orders.test${ORDERS}/1`],
    ['GET', `${ORDERS}?${'x'.repeat(9_000)}`],
  ] as const) {
    const answer = await askNode({ agent, port }, method, path, []);
    assertError(answer, 'missing_api_key');
    assert.equal(rateLimitOf(answer).remaining, --remaining);
  }
});

test('headers that the host has set are kept, but the service replaces its own fields and adds to Vary; onReply gets each reply', async (t) => {
  const replies: unknown[] = [];
  const handle = nodeHandler(createShop().service, {
    onReply: ({ method }, { status, chargedTo }) => replies.push([method, status, chargedTo]),
  });
  const listener: RequestListener = (request, response) => {
    response.setHeader('X-Request-Id', 'r-1');
    response.setHeader('Vary', ['Origin', 'Accept']);
    response.setHeader('Content-Type', 'text/html');
    response.setHeader('X-RateLimit-Limit', '5');
    handle(request, response);
  };
  const port = await serve(t, createServer(listener));
  for (const [method, path, status, vary] of [
    ['GET', ORDERS, 200, 'Origin,Accept, Accept-Encoding'],
    ['DELETE', `${ORDERS}/404`, 404, 'Origin, Accept'],
  ] as const) {
    const answer = await askNode({ agent, port }, method, path, [KEY]);
    checkAnswer(answer, method);
    assert.deepEqual([answer.status, rateLimitOf(answer).limit], [status, 1_000]);
    assert.deepEqual([answer.fields.get('x-request-id'), answer.fields.get('vary')], ['r-1', vary]);
    assert.deepEqual(replies.pop(), [method, status, 'key']);
  }
});

test('a request without Host gets a 400 in HTTP/1.1, also under a mount path, but is served in HTTP/1.0', async (t) => {
  const handle = nodeHandler(createShop().service);
  const listener: RequestListener = (request, response) => {
    if (request.headers['x-mounted'] !== undefined) {
      Object.assign(request, { originalUrl: request.url });
      request.url = '/orders/2';
    }
    handle(request, response, () => response.writeHead(404).end());
  };
  const port = await serve(t, createServer({ requireHostHeader: false }, listener));
  for (const [version, mounted, expected] of [
    ['1.1', '', 400],
    ['1.1', 'X-Mounted: 1\r\n', 400],
    ['1.0', '', 200],
  ] as const) {
    const head = `GET ${ORDERS} HTTP/${version}\r\n${KEY.join(': ')}\r\n${mounted}Connection: close\r\n\r\n`;
    const { answers } = await exchange(port, head);
    assert.deepEqual([answers.length, answers[0]?.status], [1, expected]);
  }
});

test('the service writes no response if the host has begun or ended one', async (t) => {
  for (const isEnded of [true, false]) {
    const { promise: listed, resolve: finish } = createDeferred<[]>();
    const { service } = createShop({ store: fakeStore({ list: () => listed }) });
    const handle = nodeHandler(service);
    const listener: RequestListener = async (request, response) => {
      handle(request, response);
      response.setHeader('Connection', 'close').write('la');
      if (isEnded) response.end('te');
      finish([]);
      await service.close();
      if (!isEnded) response.end('te');
    };
    const port = await serve(t, createServer(listener));
    const text = await readText(open(port, get()));
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n(?!.*X-RateLimit).*la.*te/s);
  }
});

test('if a response is closed before it begins, its list is ended, even if that fails, and the process keeps running', {
  timeout: 30_000,
}, async (t) => {
  const { promise: gone, resolve: hangUp } = createDeferred();
  let ended = 0;
  const pages = {
    next: async () => ({ done: false, value: '{"id":1}' }),
    async return() {
      ended++;
      throw new Error('the cursor is gone');
    },
    [Symbol.asyncIterator]: () => pages,
  };
  const store = fakeStore({ list: () => gone.then(() => pages), cancel: () => gone.then(() => 'cancelled' as const) });
  const closed: Promise<unknown>[] = [];
  const handled: unknown[] = [];
  // Of one service, the second list would wait for the first, and not be asked for any more.
  function createListener() {
    const handle = nodeHandler(createShop({ store }).service);
    return (...[request, response]: Parameters<typeof handle>) => {
      handled.push(handle(request, response));
      closed.push(once(response, 'close'));
      response.destroy();
    };
  }
  const plain = await listening(createServer(createListener()));
  for (const mounted of [plain, overHttp2(await listening(createHttp2Server(createListener())))]) {
    t.after(mounted.close);
    const { origin, fetch = globalThis.fetch } = mounted;
    for (const [method, path] of Object.entries({ GET: ORDERS, DELETE: `${ORDERS}/1` })) {
      fetch(new Request(origin + path, { method, headers: [KEY] })).catch(() => {});
    }
  }
  await until(() => closed.length === 4);
  await Promise.all(closed);
  hangUp();
  await Promise.all(handled);
  await until(() => ended === 2);
});

test('the handler has three parameters, returns nothing when it is called with next, and attaches only to a server', async (t) => {
  const handle = nodeHandler(createShop({ store: fakeStore({ list: async () => [] }) }).service);
  assert.equal(handle.length, 3);
  assert.throws(() => Reflect.apply(handle.attach, handle, [handle]), /^TypeError: server: /);
  const results: unknown[] = [];
  const port = await serve(
    t,
    createServer((request, response) => results.push(handle(request, response, () => {}))),
  );
  const response = await fetch(`http://127.0.0.1:${port}${ORDERS}`, { headers: [KEY] });
  assert.deepEqual([response.status, results], [200, [undefined]]);
});

test('head and body of a text are one write to the socket', async (t) => {
  const server = createServer(nodeHandler(createShop().service));
  const writes: unknown[] = [];
  server.on('connection', (socket) => writes.push(t.mock.method(socket, 'write').mock));
  const { text } = await askNode({ agent, port: await serve(t, server) }, 'DELETE', `${ORDERS}/2`, [KEY]);
  const [{ calls }] = Object(writes);
  assert.deepEqual([calls.length, String(calls[0].arguments[0]).slice(-text.length)], [1, text]);
});

test('functions of the response that middleware has replaced are called, without an array of headers', async (t) => {
  const handle = nodeHandler(createShop().service);
  const calls: unknown[] = [];
  const listener: RequestListener = (request, response) => {
    // Version 1.0 of the package on-headers mistakes a flat array of headers for pairs.
    const { mock: writeHead } = t.mock.method(response, 'writeHead');
    const { mock: end } = t.mock.method(response, 'end');
    handle(request, response);
    calls.push(...[...writeHead.calls, ...end.calls].map((call) => call.arguments));
  };
  const port = await serve(t, createServer(listener));
  const answer = await askNode({ agent, port }, 'DELETE', `${ORDERS}/2`, [KEY]);
  checkAnswer(answer, 'DELETE');
  assert.deepEqual(calls, [[409], [answer.text, 'latin1']]);
});
