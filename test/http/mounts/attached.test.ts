import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, suite, test } from 'node:test';
import type { ErrorCode } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { createOrderServer } from 'store-orders/server';
import { assertError, trioOf } from '../support/answer.js';
import { exchange, open, readText } from '../support/raw-socket.js';
import { authenticate, createShop, KEY, ORDERS, type Shop } from '../support/shop.js';
import { listening, type Mounted } from './support/mount.js';

const AUTHORIZATION = KEY.join(': ');
const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`;
const CLOSE = 'Connection: close';
const many = (count: number) => Array.from({ length: count }, (_, index) => `a${index}: `);

/** Requests that get an error before they reach a route or an operation, whatever their path. */
const REFUSED: readonly (readonly [name: string, code: ErrorCode, request: string])[] = [
  ['CONNECT', 'missing_api_key', lines('CONNECT orders.test:443 HTTP/1.1', 'Host: orders.test:443')],
  ['CONNECT with a key', 'route_not_found', lines('CONNECT a:443 HTTP/1.1', 'Host: a', AUTHORIZATION)],
  ['CONNECT without Host', 'bad_request', lines('CONNECT a:443 HTTP/1.1', AUTHORIZATION)],
  ['an unknown method', 'method_not_implemented', lines(`BREW ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION)],
  ['a method in lower case', 'method_not_implemented', lines(`get ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION)],
  [
    'a method that is not implemented',
    'method_not_implemented',
    lines(`LOCK ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION, CLOSE),
  ],
  ['no request line', 'bad_request', lines('BREW')],
  ['no version', 'bad_request', lines(`BREW ${ORDERS}`, 'Host: a')],
  ['no Host', 'bad_request', lines(`GET ${ORDERS} HTTP/1.1`, AUTHORIZATION)],
  ['HTTP/2.0 in a request line', 'bad_request', lines(`GET ${ORDERS} HTTP/2.0`, 'Host: a', AUTHORIZATION)],
  ['a thousand fields', 'headers_too_large', lines(`GET ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION, ...many(998))],
  [
    'a second Authorization field after a thousand others',
    'headers_too_large',
    lines(`GET ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION, ...many(1_100), 'Authorization: Bearer other'),
  ],
];

const EXPECTING = lines(`DELETE ${ORDERS}/1 HTTP/1.1`, 'Host: a', AUTHORIZATION, 'Expect: foo', CLOSE);

const SERVERS = {
  'the mount': ({ service }: Shop) => {
    const handle = nodeHandler(service);
    return handle.attach(createServer(handle));
  },
  'the program': ({ store, limiter }: Shop) => createOrderServer({ store, limiter, authenticate }),
};

for (const [name, create] of Object.entries(SERVERS)) {
  suite(`by ${name}`, () => {
    const shop = createShop();
    let mounted: Mounted;
    let port: number;
    before(async () => {
      mounted = await listening(create(shop));
      port = Number(new URL(mounted.origin).port);
    });
    after(() => mounted.close());

    for (const [what, code, request] of REFUSED) {
      test(`${what} gets ${code} with the X-RateLimit-* fields, and the connection is closed`, async () => {
        const { answers } = await exchange(port, request);
        assert.equal(answers.length, 1);
        assertError(answers[0] ?? assert.fail(), code);
        assert.equal(answers[0]?.fields.get('connection'), 'close');
      });
    }

    test('CONNECT after a finished request gets no response, because the connection is closed', async () => {
      const { answers } = await exchange(
        port,
        lines(`GET ${ORDERS} HTTP/1.1`, 'Host: a', AUTHORIZATION) + REFUSED[0]?.[2],
      );
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200],
      );
    });

    test('an unknown value of the Expect field is ignored', async () => {
      const { answers } = await exchange(port, EXPECTING);
      assert.equal(answers[0]?.status, 204);
      assert.equal(trioOf(answers[0]).limit, 1_000);
    });

    test('an invalid Host gets a 400 on every path', async () => {
      for (const path of [ORDERS, '/', '/healthz', '/readyz', '/docs', '/openapi.json', `${ORDERS}/1`]) {
        for (const host of ['a b/c?d', '127.0.0.1/path', 'user@host', 'a, b', '', 'a\r\nHost: a']) {
          const { answers } = await exchange(port, lines(`GET ${path} HTTP/1.1`, `Host: ${host}`));
          assertError(answers[0] ?? assert.fail(path), 'bad_request');
        }
      }
    });
  });
}

test('even without attach(), a request with a second Authorization field after a thousand others gets a 431', async (t) => {
  const { service } = createShop();
  const { origin, close } = await listening(createServer(nodeHandler(service)));
  t.after(close);
  const [, , request = ''] = REFUSED.find(([name]) => name.startsWith('a second Authorization')) ?? [];
  // On Node.js 20 the handler sends this 431. From Node.js 22 on, Node.js itself sends it.
  assert.match(await readText(open(Number(new URL(origin).port), request)), /^HTTP\/1\.1 431 /);
});
