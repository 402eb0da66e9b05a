import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import type { Authenticate, OrderServiceOptions } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { serve } from '../../http/mounts/support/servers.js';
import { CHUNKED, cancel, get } from '../../http/support/messages.js';
import { exchange } from '../../http/support/raw-socket.js';
import { authenticate, createShop, KEY, ORDERS } from '../../http/support/shop.js';
import { fakeStore } from '../../support/fake-store.js';

const DELETE = cancel(1);
const LAST = cancel(404, 'Connection: close');

/** Sends bytes to a server. Returns the statuses of the responses, and the status of order 1 afterwards. */
async function send(t: TestContext, pieces: readonly string[], options: Partial<OrderServiceOptions> = {}) {
  const { service, store } = createShop(options);
  const handle = nodeHandler(service);
  const { answers } = await exchange(await serve(t, handle.attach(createServer(handle))), ...pieces);
  return { statuses: answers.map(({ status }) => status), order: store.get(1n)?.status };
}

const LENGTH = `Content-Length: ${DELETE.length}`;

suite('a request that is hidden in another request is not executed', () => {
  const rows: [where: string, status: number, bytes: string][] = [
    ['in the body of a GET', 200, get(LENGTH) + DELETE],
    ['if Content-Length has a leading 0', 200, get(LENGTH.replace(': ', ': 0')) + DELETE],
    ['in the body of a POST', 405, get(LENGTH).replace('GET', 'POST') + DELETE],
    ['in a chunked body', 200, `${get(CHUNKED)}${DELETE.length.toString(16)}\r\n${DELETE}\r\n0\r\n\r\n`],
    ['after the last chunk', 200, `${get(CHUNKED)}0\r\n\r\n${DELETE}`],
    ['if Transfer-Encoding comes before Content-Length', 400, `${get(CHUNKED, 'Content-Length: 4')}0\r\n\r\n${DELETE}`],
    ['if Content-Length comes before Transfer-Encoding', 400, `${get('Content-Length: 4', CHUNKED)}0\r\n\r\n${DELETE}`],
    ['after the body', 200, `${get('Content-Length: 5')}hello${DELETE}`],
    ['with two lengths', 400, get('Content-Length: 0', LENGTH) + DELETE],
    ['with an invalid Content-Length', 400, get('Content-Length: +5') + DELETE],
    ['with a space after a field name', 400, get(LENGTH.replace(':', ' :')) + DELETE],
    ['with an unknown transfer coding', 400, get('Transfer-Encoding: xchunked') + DELETE],
  ];
  const later: Authenticate = async (apiKey) => authenticate(apiKey);
  for (const [where, status, bytes] of rows) {
    test(where, async (t) => {
      for (const options of [{}, { authenticate: later }]) {
        assert.deepEqual(await send(t, [bytes], options), { statuses: [status], order: 'pending' });
      }
    });
  }
});

test('pipelined requests are executed one after the other, even if the store is slow', async (t) => {
  let running = 0;
  const cancelSlowly = async () => {
    running++;
    await new Promise(setImmediate);
    return running-- === 1 ? 'cancelled' : 'not_pending';
  };
  const { statuses } = await send(t, [DELETE.repeat(5) + LAST], { store: fakeStore({ cancel: cancelSlowly }) });
  assert.deepEqual(statuses, [204, 204, 204, 204, 204, 204]);
});

test('`headers` is read only if `rawHeaders` is empty, and duplicates in `headers` are refused', async () => {
  const { service } = createShop();
  const status = async (head: Omit<Parameters<typeof service.respond>[0], 'rawHeaders'>, rawHeaders: string[] = []) =>
    (await service.respond({ method: 'GET', url: ORDERS, httpVersion: '1.1', rawHeaders, ...head })).status;
  const [, authorization] = KEY;
  assert.equal(await status({ headers: { authorization, 'if-match': undefined } }), 200);
  assert.equal(await status({ headers: { authorization: [authorization] } }), 200);
  assert.equal(await status({ headers: { authorization: [authorization, authorization] } }), 401);
  assert.equal(await status({ headers: { authorization: `${authorization}, ${authorization}` } }), 401);
  assert.equal(await status({ headers: { authorization, host: 'a b' } }), 400);
  assert.equal(await status({ headers: { authorization, host: ['a', 'b'] } }), 400);
  assert.equal(await status({ headers: {} }), 400, 'no Host');
  assert.equal(await status({ headers: { authorization, host: 'a' } }, ['Host', 'a']), 401);
  assert.equal(await status({ headers: { authorization, host: 'a' } }, [...KEY, ...KEY, 'Host', 'a']), 401);
});

test('a request that arrives in many pieces is executed as one request, and Content-Length: 0 keeps the connection', async (t) => {
  const empty = DELETE.replace('\r\n', '\r\nContent-Length: 0\r\n');
  assert.deepEqual(await send(t, [...empty, LAST]), { statuses: [204, 404], order: 'cancelled' });
});

test('an API key is not accepted from an Authorization field that is folded over two lines', async (t) => {
  for (const fold of ['\r\n ', '\r\n\t', '\n ']) {
    const { statuses, order } = await send(t, [DELETE.replace('Bearer ', `Bearer${fold}`)]);
    assert.ok(statuses.length === 1 && [400, 401].includes(statuses[0] ?? 0), `${statuses}`);
    assert.equal(order, 'pending');
  }
});
