import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, Server } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import type { ErrorCode, RateLimiter } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { fakeStore } from '../../support/fake-store.js';
import { createDeferred, until } from '../../support/until.js';
import { rateLimitOf } from '../support/answer.js';
import { AUTHORIZATION, CHUNKED, cancel, get, lines } from '../support/messages.js';
import { exchange, open, readAll, readText } from '../support/raw-socket.js';
import { createShop, ORDERS } from '../support/shop.js';
import { attached, expectRefusal, GARBAGE } from './support/attached.js';
import { SERVERS, serve } from './support/servers.js';

const CLOSE = 'Connection: close';

const manyFields = (count: number) => Array.from({ length: count }, (_, index) => `a${index}: `);
const UNREAD_KEY = get(...manyFields(1_100), 'Authorization: Bearer other');

/** Requests that get an error before they reach a route or an operation, whatever their path. */
const REFUSED: readonly (readonly [code: ErrorCode, request: string])[] = [
  ['missing_api_key', lines('CONNECT orders.test:443 HTTP/1.1', 'Host: orders.test:443')],
  ['route_not_found', lines('CONNECT a:443 HTTP/1.1', 'Host: a', AUTHORIZATION)],
  ['method_not_implemented', lines(`BREW ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION)],
  ['method_not_implemented', `\r\n${lines(`BREW ${ORDERS} HTTP/1.1`, 'Host: a')}`],
  ['method_not_implemented', lines(`LOCK ${ORDERS} HTTP/1.0`, 'Host: a', AUTHORIZATION, CLOSE)],
  // A line ends with CRLF, whatever its method.
  ['bad_request', `GET ${ORDERS} HTTP/1.1\nHost: a\n${AUTHORIZATION}\n\n`],
  ['bad_request', `BREW ${ORDERS} HTTP/1.1\nHost: a\n${AUTHORIZATION}\n\n`],
  ['bad_request', lines(`GET ${ORDERS} HTTP/1.1`, AUTHORIZATION)],
  ['bad_request', lines(`GET ${ORDERS} HTTP/2.0`, 'Host: a', AUTHORIZATION)],
  ['headers_too_large', get(...manyFields(998))],
  ['headers_too_large', UNREAD_KEY],
  ['headers_too_large', get(`X-Long: ${'x'.repeat(20_000)}`)],
  ['headers_too_large', lines(`GET /${'x'.repeat(20_000)} HTTP/1.1`, 'Host: a')],
];

const statusesOf = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status);

/** Returns a function that counts the errors of connections that Node.js has reported since. */
function countErrors(t: TestContext): () => number {
  const { mock } = t.mock.method(Server.prototype, 'emit');
  return () => mock.calls.filter(({ arguments: [event] }) => String(event) === 'clientError').length;
}

for (const [name, isSlow] of [
  ['nodeHandler with attach', false],
  ['nodeHandler with attach', true],
  ['koaMiddleware with attach', true],
] as const) {
  suite(`${name} over a store that is ${isSlow ? 'asynchronous' : 'synchronous'}`, () => {
    async function start(t: TestContext) {
      const cancelled: bigint[] = [];
      const later = () => new Promise<'cancelled'>((resolve) => setTimeout(resolve, 5, 'cancelled'));
      const store = fakeStore({
        cancel: (id) => {
          cancelled.push(id);
          return isSlow ? later() : 'cancelled';
        },
      });
      return { port: await serve(t, SERVERS[name](createShop({ store }).service)), cancelled };
    }

    test('neither an unknown value of the Expect field nor content with a mistake changes the response', async (t) => {
      for (const content of ['zz\r\nhello\r\n0\r\n\r\n', '1\r\nhello\r\n', `\r\n${cancel(2)}`]) {
        const head = cancel(1, CHUNKED, 'Expect: foo');
        for (const pieces of [[head + content], [head, content]]) {
          const { port, cancelled } = await start(t);
          const { answers } = await exchange(port, ...pieces);
          assert.deepEqual([statusesOf(answers), cancelled], [[204], [1n]], content);
          assert.equal(answers[0]?.fields.get('connection'), 'close');
        }
      }
    });

    test('all complete requests before malformed bytes, a CONNECT or a FIN get their responses, then the connection closes', async (t) => {
      for (const last of [GARBAGE, lines('CONNECT a:443 HTTP/1.1', 'Host: a', AUTHORIZATION), '']) {
        const { port, cancelled } = await start(t);
        const socket = open(port, cancel(1) + cancel(2) + cancel(3) + last);
        if (last === '') socket.end();
        const { answers } = await readAll(socket);
        assert.deepEqual(statusesOf(answers), [204, 204, 204], last);
        assert.deepEqual(cancelled, [1n, 2n, 3n], last);
      }
    });

    test('a client that closes its sending half during a request gets a 400, and its connection is closed', async (t) => {
      const { port, cancelled } = await start(t);
      for (const [sent, expected] of [
        [cancel(1).slice(0, -2), [400]],
        ['', []],
      ] as const) {
        const socket = open(port, sent);
        socket.end();
        assert.deepEqual(statusesOf((await readAll(socket)).answers), expected);
      }
      assert.deepEqual(cancelled, []);
    });

    test('a request that is refused before it reaches a route gets its error, and the connection is closed', async (t) => {
      const { port } = await start(t);
      for (const [code, refused] of REFUSED) await expectRefusal(port, code, refused);
    });
  });
}

for (const name of ['nodeHandler', 'koaMiddleware'] as const) {
  test(`${name} without attach: what is carried out is answered before malformed bytes close the connection; alone, they get the 400 of Node.js, or what the host's listener sends`, async (t) => {
    const errors = countErrors(t);
    for (const [valid, malformed, ids] of [
      [cancel(1), GARBAGE, [1n]],
      [cancel(1) + cancel(2), GARBAGE, [1n, 2n]],
      [cancel(1, CHUNKED), 'zz\r\nhello\r\n', [1n]],
      ['', GARBAGE, []],
    ] as const) {
      const cancelled: bigint[] = [];
      let held = createDeferred<'cancelled'>();
      const store = fakeStore({
        cancel(id) {
          cancelled.push(id);
          return held.promise;
        },
      });
      const server = SERVERS[name](createShop({ store }).service);
      const port = await serve(t, server);
      for (const pieces of [[valid + malformed], [valid, malformed]]) {
        cancelled.length = 0;
        held = createDeferred();
        const before = errors();
        const text = readText(open(port, ...pieces));
        await until(() => errors() > before);
        held.resolve('cancelled');
        const statuses = Array.from((await text).matchAll(/^HTTP\/1\.1 (\d+)/gm), ([, status]) => status);
        const expected = ids.length === 0 ? ['400'] : ids.map(() => '204');
        assert.deepEqual([statuses, cancelled], [expected, ids], JSON.stringify(pieces));
      }
      server.on('clientError', (_error, socket) => socket.end('of the host'));
      assert.match(await readText(open(port, valid + malformed)), /of the host$/);
    }
  });
}

test('even without attach(), and if a tracer has replaced the emit of the server, a request that is carried out is answered before malformed bytes', async (t) => {
  const { promise: released, resolve: release } = createDeferred<'cancelled'>();
  const server = SERVERS.nodeHandler(createShop({ store: fakeStore({ cancel: () => released }) }).service);
  const errors = countErrors(t);
  server.emit = server.emit.bind(server);
  const text = readText(open(await serve(t, server), cancel(1) + GARBAGE));
  await until(() => errors() > 0);
  release('cancelled');
  assert.match(await text, /^HTTP\/1\.1 204 /);
});

test('a handler that is attached twice carries out a request once, and charges it once; a second handler throws', async (t) => {
  const cancelled: bigint[] = [];
  const store = fakeStore({
    cancel(id) {
      cancelled.push(id);
      return 'cancelled';
    },
  });
  const shop = createShop({ store });
  const handle = nodeHandler(shop.service);
  const server = handle.attach(handle.attach(createServer(handle)));
  const port = await serve(t, server);
  const { answers } = await exchange(port, cancel(1, 'Expect: magic', CLOSE));
  assert.deepEqual([statusesOf(answers), cancelled], [[204], [1n]]);
  const connecting = lines('CONNECT a:443 HTTP/1.1', 'Host: a');
  assert.equal(rateLimitOf(await expectRefusal(port, 'missing_api_key', connecting)).remaining, 599);
  assert.throws(() => nodeHandler(createShop({ basePath: '/v2' }).service).attach(server), {
    name: 'TypeError',
    message:
      'server: a handler with basePath "/v1" is already attached to it; attach one handler, and call the others in the listener of the server',
  });
});

test('even without attach(), a timeout after malformed bytes does not cut off a response that is pending', async (t) => {
  const { promise: released, resolve: release } = createDeferred<'cancelled'>();
  const { service } = createShop({ store: fakeStore({ cancel: () => released }) });
  const times = { headersTimeout: 100, requestTimeout: 100, connectionsCheckingInterval: 20 };
  const port = await serve(t, createServer(times, nodeHandler(service)));
  const errors = countErrors(t);
  const text = readText(open(port, cancel(1) + GARBAGE));
  await until(() => errors() > 1);
  release('cancelled');
  assert.match(await text, /^HTTP\/1\.1 204 No Content\r\n(?:.+\r\n)*\r\n$/);
});

test('even without attach(), malformed bytes do not cut off a list that a synchronous store has returned', async (t) => {
  const orders = [{ id: 1n, shipDate: 'x'.repeat(16_000_000) }];
  const { service } = createShop({ store: fakeStore({ list: () => orders }) });
  const text = await readText(open(await serve(t, SERVERS.nodeHandler(service)), get() + GARBAGE));
  assert.match(text.slice(-5), /^xx"\}\]$/);
});

test('even without attach(), a request with a second Authorization field after a thousand others gets a 431', async (t) => {
  const port = await serve(t, SERVERS.nodeHandler(createShop().service));
  // On Node.js 20 the handler sends this 431. From Node.js 22 on, Node.js itself sends it.
  assert.match(await readText(open(port, UNREAD_KEY)), /^HTTP\/1\.1 431 /);
});

test('a malformed request gets 400 with the Error object, is charged to the client address until that is over its limit, and its connection is closed', async (t) => {
  const shop = createShop();
  const { port } = await attached(t, shop);
  const malformed = [
    GARBAGE,
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001',
    get('Bad Name: x'),
    get('X: a\u0000b'),
    lines(`GE T ${ORDERS} HTTP/1.1`, 'Host: a'),
    get('Transfer-Encoding: identity'),
    get('Transfer-Encoding: chunked, identity'),
    get(CHUNKED, 'Transfer-Encoding: gzip'),
  ];
  for (const [index, bytes] of malformed.entries()) {
    const { remaining } = rateLimitOf(await expectRefusal(port, 'bad_request', bytes));
    assert.equal(remaining, 599 - index, JSON.stringify(bytes));
  }
  const connecting = lines('CONNECT a:443 HTTP/1.1', 'Host: a');
  assert.equal(rateLimitOf(await expectRefusal(port, 'missing_api_key', connecting)).remaining, 599 - malformed.length);
  for (let i = 0; i < 600; i++) await shop.service.refuse('bad_request', '127.0.0.1');
  await expectRefusal(port, 'rate_limit_exceeded', GARBAGE);
});

test('more bytes after a malformed request cause no second response, no second charge and no reset, even if the limiter is slow', async (t) => {
  const memory = createShop();
  const { promise: held, resolve: release } = createDeferred();
  const limiter: RateLimiter = { take: (key, plan) => held.then(() => memory.limiter.take(key, plan)) };
  const { server, port } = await attached(t, createShop({ limiter }));
  const socket = open(port, GARBAGE);
  const [, connection] = await once(server, 'clientError');
  const again = once(server, 'clientError');
  socket.write(GARBAGE);
  await again;
  release();
  await once(connection, 'finish');
  for (let times = 0; times < 3; times++) {
    socket.write(GARBAGE);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { answers } = await readAll(socket);
  assert.deepEqual(statusesOf(answers), [400]);
  assert.equal(rateLimitOf(await expectRefusal(port, 'bad_request', GARBAGE)).remaining, 598);
});
