import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, suite, test } from 'node:test';
import Koa from 'koa';
import type { ErrorCode, OrderServiceOptions } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { createOrderServer } from 'store-orders/server';
import { fakeStore } from '../../support/fake-store.js';
import { assertError, rateLimitOf } from '../support/answer.js';
import { exchange, open, readAll, readText } from '../support/raw-socket.js';
import { authenticate, createShop, KEY, ORDERS } from '../support/shop.js';
import { listening, type Mounted } from './support/mount.js';

const AUTHORIZATION = KEY.join(': ');
const request = (line: string, ...fields: readonly string[]) =>
  [`${line} HTTP/1.1`, 'Host: a', AUTHORIZATION, ...fields, '', ''].join('\r\n');
const cancel = (...fields: readonly string[]) => request(`DELETE ${ORDERS}/1`, ...fields);
const CHUNKED = 'Transfer-Encoding: chunked';
const GARBAGE = 'NONSENSE\r\n\r\n';

const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`;
const CLOSE = 'Connection: close';
const many = (count: number) => Array.from({ length: count }, (_, index) => `a${index}: `);

/** Requests that get an error before they reach a route or an operation, whatever their path. */
const REFUSED: readonly (readonly [name: string, code: ErrorCode, request: string])[] = [
  ['CONNECT', 'missing_api_key', lines('CONNECT orders.test:443 HTTP/1.1', 'Host: orders.test:443')],
  ['CONNECT with a key', 'route_not_found', lines('CONNECT a:443 HTTP/1.1', 'Host: a', AUTHORIZATION)],
  ['an unknown method', 'method_not_implemented', lines(`BREW ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION)],
  [
    'a method that is not implemented',
    'method_not_implemented',
    lines(`LOCK ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION, CLOSE),
  ],
  ['no Host', 'bad_request', lines(`GET ${ORDERS} HTTP/1.1`, AUTHORIZATION)],
  ['HTTP/2.0 in a request line', 'bad_request', lines(`GET ${ORDERS} HTTP/2.0`, 'Host: a', AUTHORIZATION)],
  ['a thousand fields', 'headers_too_large', lines(`GET ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION, ...many(998))],
  [
    'a second Authorization field after a thousand others',
    'headers_too_large',
    lines(`GET ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION, ...many(1_100), 'Authorization: Bearer other'),
  ],
];

const SERVERS: Readonly<Record<string, (options: OrderServiceOptions) => Server>> = {
  nodeHandler: (options) => {
    const handle = nodeHandler(createShop(options).service);
    return handle.attach(createServer(handle));
  },
  'koaMiddleware on an attached server': (options) => {
    const { service } = createShop(options);
    return nodeHandler(service).attach(createServer(new Koa().use(koaMiddleware(service)).callback()));
  },
  createOrderServer: createOrderServer,
};

const portOf = ({ origin }: Mounted) => Number(new URL(origin).port);
const later = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

for (const [name, create] of Object.entries(SERVERS)) {
  for (const kind of ['synchronous', 'asynchronous'] as const) {
    suite(`${name} over a store that is ${kind}`, () => {
      const shop = createShop();
      const cancelled: bigint[] = [];
      const store = fakeStore({
        cancel: (id) => {
          cancelled.push(id);
          return kind === 'synchronous' ? 'cancelled' : later().then(() => 'cancelled');
        },
      });
      let server: Mounted;
      before(async () => {
        server = await listening(create({ store, limiter: shop.limiter, authenticate }));
      });
      after(() => server.close());

      /** Returns the responses, after the server has closed the connection. */
      async function answersTo(...pieces: readonly string[]) {
        cancelled.length = 0;
        return (await exchange(portOf(server), ...pieces)).answers;
      }

      test('a request whose last transfer coding is not chunked gets 400, cancels nothing and is charged to the address', async () => {
        for (const coding of ['xchunked', 'identity', 'chunked, identity', 'chunked\r\nTransfer-Encoding: gzip']) {
          const answers = await answersTo(`${cancel(`Transfer-Encoding: ${coding}`)}0\r\n\r\n`);
          assert.deepEqual([answers.length, cancelled], [1, []], coding);
          assertError(answers[0] ?? assert.fail(), 'bad_request');
          assert.equal(rateLimitOf(answers[0] ?? assert.fail()).limit, 600);
        }
      });

      test('content with a mistake does not change the response', async () => {
        for (const content of ['zz\r\nhello\r\n0\r\n\r\n', '1\r\nhello\r\n', `\r\n${request(`DELETE ${ORDERS}/2`)}`]) {
          for (const pieces of [[cancel(CHUNKED) + content], [cancel(CHUNKED), content]]) {
            const answers = await answersTo(...pieces);
            assert.deepEqual(
              answers.map(({ status, fields }) => [status, fields.get('connection')]),
              [[204, 'close']],
              content,
            );
            assert.deepEqual(cancelled, [1n]);
          }
        }
      });

      test('all complete requests before malformed bytes or a CONNECT get their responses, then the connection closes', async () => {
        for (const last of [GARBAGE, request('CONNECT a:443')]) {
          const answers = await answersTo(
            cancel() + request(`DELETE ${ORDERS}/2`) + request(`DELETE ${ORDERS}/3`) + last,
          );
          const statuses = answers.map(({ status }) => status);
          assert.deepEqual(
            [statuses, cancelled],
            [
              [204, 204, 204],
              [1n, 2n, 3n],
            ],
            last,
          );
        }
      });

      test('a client that closes its sending half after its requests gets all responses', async () => {
        cancelled.length = 0;
        const socket = open(portOf(server), cancel() + cancel() + cancel());
        socket.end();
        const { answers } = await readAll(socket);
        assert.deepEqual([answers.map(({ status }) => status), cancelled.length], [[204, 204, 204], 3]);
      });

      test('a client that closes its sending half during a request gets a 400, and its connection is closed', async () => {
        cancelled.length = 0;
        const socket = open(portOf(server), cancel().slice(0, -2));
        socket.end();
        assert.equal((await readAll(socket)).answers[0]?.status, 400);
        const silent = open(portOf(server));
        silent.end();
        assert.deepEqual([(await readAll(silent)).answers, cancelled], [[], []]);
      });

      test('a request that is refused before it reaches a route gets its error, and the connection is closed', async () => {
        for (const [what, code, refused] of REFUSED) {
          const answers = await answersTo(refused);
          assert.deepEqual([answers.length, answers[0]?.fields.get('connection')], [1, 'close'], what);
          assertError(answers[0] ?? assert.fail(), code);
        }
      });

      test('an unknown value of the Expect field is ignored', async () => {
        const answers = await answersTo(cancel('Expect: foo', CLOSE));
        assert.equal(answers[0]?.status, 204);
      });
    });
  }
}

test('an invalid Host gets a 400 on every path', async (t) => {
  const { store, limiter } = createShop();
  const server = await listening(createOrderServer({ store, limiter, authenticate }));
  t.after(server.close);
  for (const path of [ORDERS, '/healthz', '/docs']) {
    for (const host of ['a b/c?d', '127.0.0.1/path', 'user@host', 'a, b', '', 'a\r\nHost: a']) {
      const { answers } = await exchange(portOf(server), lines(`GET ${path} HTTP/1.1`, `Host: ${host}`));
      assertError(answers[0] ?? assert.fail(path), 'bad_request');
    }
  }
});

test('even without attach(), a request with a second Authorization field after a thousand others gets a 431', async (t) => {
  const server = await listening(createServer(nodeHandler(createShop().service)));
  t.after(server.close);
  const [, , request = ''] = REFUSED.find(([name]) => name.startsWith('a second Authorization')) ?? [];
  // On Node.js 20 the handler sends this 431. From Node.js 22 on, Node.js itself sends it.
  assert.match(await readText(open(portOf(server), request)), /^HTTP\/1\.1 431 /);
});
