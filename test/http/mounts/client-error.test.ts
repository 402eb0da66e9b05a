import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerOptions } from 'node:http';
import { test } from 'node:test';
import type { ErrorCode, OrderService, RateLimiter } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { fakeStore } from '../../support/fake-store.js';
import { assertError, rateLimitOf } from '../support/answer.js';
import { exchange, open, readAll, readText } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS, type Shop } from '../support/shop.js';
import { listen } from '../support/ways.js';

const GET = `GET ${ORDERS} HTTP/1.1\r\nHost: a\r\n${KEY.join(': ')}\r\n`;
const GARBAGE = 'NONSENSE\r\n\r\n';

async function serve(shop: Shop, options: ServerOptions = {}) {
  const listening = await listen(nodeHandler(shop.service), options);
  nodeHandler(shop.service).attach(listening.server);
  return listening;
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

async function expectRefusal(port: number, code: ErrorCode, ...pieces: string[]) {
  const { answers, text } = await exchange(port, ...pieces);
  assert.equal(answers.length, 1, text.slice(0, 200));
  const [answer = assert.fail()] = answers;
  assertError(answer, code);
  assert.equal(answer.fields.get('connection'), 'close');
  assert.match(answer.fields.get('date') ?? '', /GMT$/);
  return answer;
}

test('a malformed request gets 400 with the Error object and X-RateLimit-*, is charged to the client address, and its connection is closed', async () => {
  const shop = createShop();
  const { port, close } = await serve(shop);
  const malformed = [
    GARBAGE,
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001',
    `${GET}Bad Name: x\r\n\r\n`,
    `${GET}X: a\u0000b\r\n\r\n`,
    `GE T ${ORDERS} HTTP/1.1\r\nHost: a\r\n\r\n`,
  ];
  for (const [index, bytes] of malformed.entries()) {
    const { remaining } = rateLimitOf(await expectRefusal(port, 'bad_request', bytes));
    assert.equal(remaining, 599 - index, JSON.stringify(bytes));
  }
  await close();
});

test('too many malformed requests get 429', async () => {
  const shop = createShop();
  for (let i = 0; i < 600; i++) await shop.service.refuse('bad_request', '127.0.0.1');
  const { port, close } = await serve(shop);
  await expectRefusal(port, 'rate_limit_exceeded', GARBAGE);
  await close();
});

test('header fields that are too large get 431', async () => {
  const { port, close } = await serve(createShop(), { maxHeaderSize: 1_024 });
  await expectRefusal(port, 'headers_too_large', `${GET}X-Long: ${'x'.repeat(2_000)}\r\n\r\n`);
  await expectRefusal(port, 'headers_too_large', `GET /${'x'.repeat(2_000)} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await close();
});

test('a request that does not arrive in time gets 408', async () => {
  const options = { headersTimeout: 20, requestTimeout: 20, connectionsCheckingInterval: 10 };
  const { port, close } = await serve(createShop(), options);
  await expectRefusal(port, 'request_timeout', GET);
  await close();
});

test('more bytes after a malformed request cause no second response and no second charge, even if the limiter is slow', async () => {
  const memory = createShop();
  const { promise: held, resolve: release } = deferred();
  const takes: string[] = [];
  const limiter: RateLimiter = {
    async take(key, plan) {
      takes.push(key);
      await held;
      return memory.limiter.take(key, plan);
    },
  };
  const { server, port, close } = await serve(createShop({ limiter }));
  const socket = open(port, GARBAGE);
  await once(server, 'clientError');
  const again = once(server, 'clientError');
  socket.write(GARBAGE);
  await again;
  release();
  const { answers } = await readAll(socket);
  assert.deepEqual(
    answers.map((answer) => [answer.status, rateLimitOf(answer).remaining]),
    [[400, 599]],
  );
  assert.equal(takes.length, 1);
  await close();
});

test('if malformed bytes arrive after a response has begun, it is sent to its end, and no error response follows', async () => {
  for (const [head, malformed] of [
    [`${GET}\r\n`, GARBAGE],
    [`${GET}Transfer-Encoding: chunked\r\n\r\n`, 'NOT A SIZE\r\n'],
  ] as const) {
    const { promise: resumed, resolve: resume } = deferred();
    async function* list() {
      yield '{"id":1}';
      await resumed;
      yield '{"id":2}';
    }
    const { server, port, close } = await serve(createShop({ store: fakeStore({ list }) }));
    server.on('clientError', resume);
    const socket = open(port, head);
    socket.once('data', () => socket.write(malformed));
    const text = await readText(socket);
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\[\{"id":1\}[\s\S]*,\{"id":2\}[\s\S]*\]\r\n0\r\n\r\n$/);
    await close();
  }
});

test('a response is sent to its end although malformed bytes follow the request and the client reads late', async () => {
  const orders = [{ id: 1n, shipDate: 'x'.repeat(32_000_000) }];
  const { server, port, close } = await serve(createShop({ store: fakeStore({ list: () => orders }) }));
  const error = once(server, 'clientError');
  const socket = open(port, `${GET}\r\n${GARBAGE}`).pause();
  await error;
  const received = readAll(socket);
  socket.resume();
  assert.deepEqual(
    (await received).answers.map(({ status }) => status),
    [200],
  );
  await close();
});

test('a list whose request is followed by a CONNECT is sent to its end, unless the client stops reading', async () => {
  async function* list() {
    for (let id = 0; id < 64; id++) yield `{"id":${id},"shipDate":"${'x'.repeat(500_000)}"}`;
  }
  const { server, port, close } = await serve(createShop({ store: fakeStore({ list }) }));
  const requests = `${GET}\r\nCONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n`;
  assert.match(await readText(open(port, requests)), /,\{"id":63,[^{]*\]\r\n0\r\n\r\n$/);
  server.timeout = 200;
  const connected = once(server, 'connect');
  const stalled = open(port, requests).pause();
  const [, socket] = await connected;
  await once(socket, 'close');
  stalled.destroy();
  await close();
});

test('a route of the host that reads malformed content gets no further, and the service responds with 400', async () => {
  const shop = createShop();
  const { server, port, close } = await listen((request) => void request.resume());
  nodeHandler(shop.service).attach(server);
  await expectRefusal(
    port,
    'bad_request',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nNOT A SIZE\r\n',
  );
  await close();
});

test('a connection that the client resets is closed without a charge, and the server keeps running', async () => {
  const shop = createShop();
  const refused: string[] = [];
  const refuse: OrderService['refuse'] = (code, address) => {
    refused.push(code);
    return shop.service.refuse(code, address);
  };
  const { server, port, close } = await serve({ ...shop, service: { ...shop.service, refuse } });
  const socket = open(port, `${GET}\r\n`);
  await once(socket, 'data');
  const error = once(server, 'clientError');
  socket.resetAndDestroy();
  const [{ code }] = await error;
  assert.equal(code, 'ECONNRESET');
  assert.deepEqual(refused, []);
  await expectRefusal(port, 'bad_request', GARBAGE);
  assert.deepEqual(refused, ['bad_request']);
  await close();
});
