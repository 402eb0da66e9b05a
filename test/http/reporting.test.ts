import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import {
  createMemoryLimiter,
  createOrderService,
  type ListedOrders,
  type OrderService,
  type ReplyMessage,
} from 'store-orders';
import { createGuard } from 'store-orders/guard';
import { fakeStore, pagesOf } from '../support/fake-store.js';
import { collectReplies } from './support/replies.js';
import { authenticate, bearer, createShop, GET, KEY, ORDERS, order } from './support/shop.js';
import { asking, openShop, WAYS } from './support/ways.js';

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

for (const way of WAYS) {
  test(`reached by ${way.name}: the message on the diagnostics channel describes the request, its id and the reply, but has no API key`, async (t) => {
    const messages = collectReplies(t);
    const { ask } = await openShop(t, way);
    const startMs = performance.now();
    const list = await ask('GET', `${ORDERS}?secret=1`, [KEY, ['X-Request-Id', 'abc-1'], ['traceparent', TRACEPARENT]]);
    const answers = [
      await ask('DELETE', order(99), [KEY]),
      await ask('HEAD', ORDERS, [KEY]),
      await ask('GET', ORDERS, [bearer('stolen-key')]),
    ];
    const [first, ...others] = messages.map(({ durationMs, clientAddress, ...message }) => {
      assert.ok(durationMs > 0 && durationMs < performance.now() - startMs, `${durationMs} ms`);
      assert.match(clientAddress ?? '', /^(?:127\.0\.0\.1|192\.0\.2\.1)$/);
      return message;
    });
    assert.deepEqual(first, {
      requestId: 'abc-1',
      traceparent: TRACEPARENT,
      method: 'GET',
      path: ORDERS,
      status: 200,
      bytes: list.text.length,
      code: undefined,
      operation: 'listOrders',
      orderId: undefined,
      keyId: 'owner',
      plan: 'business',
      error: undefined,
      isCutOff: undefined,
    });
    assert.equal(list.fields.get('x-request-id'), 'abc-1');
    assert.deepEqual(
      others.map(({ code, operation, orderId, keyId, plan }) => [code, operation, orderId, keyId, plan]),
      [
        ['order_not_found', 'cancelOrder', 99n, 'owner', 'business'],
        [undefined, 'listOrders', undefined, 'owner', 'business'],
        ['invalid_api_key', undefined, undefined, undefined, 'address'],
      ],
    );
    const ids = others.map(({ requestId = '' }) => requestId);
    assert.equal(new Set(ids).size, 3);
    for (const [index, { text, fields }] of answers.entries()) {
      assert.match(ids[index] ?? '', UUID);
      assert.deepEqual([others[index]?.bytes, ids[index]], [text.length, fields.get('x-request-id')]);
    }
    assert.doesNotMatch(inspect(messages), /business-key|stolen-key|secret/);
  });
}

test('the API key of the request is masked in the path and in the request id of the message, but a short key is not', async (t) => {
  const messages = collectReplies(t);
  const { service } = createShop();
  const ask = asking(service);
  const token = 'stolen+key/4711==';
  for (const [key, path, id] of [
    [token, `/v1/${token}/a`, '/v1/***/a'],
    [token, `/v1/${encodeURIComponent(token)}`, '/v1/***'],
    [token, `/${'x'.repeat(1_017)}${token}`, `/${'x'.repeat(1_017)}***`],
    ['store', '/v1/store/orders', '/v1/store/orders'],
  ] as const) {
    const { fields } = await ask('GET', path, [bearer(key), ['X-Request-Id', `a-${key}`]]);
    assert.deepEqual([messages.at(-1)?.path, messages.at(-1)?.requestId], [id, key === token ? 'a-***' : 'a-store']);
    assert.equal(fields.get('x-request-id'), `a-${key}`, 'the client gets its own id');
  }
});

test('an X-Request-Id that is too long, unsafe or sent twice is replaced', async (t) => {
  collectReplies(t);
  const ask = asking(createShop().service);
  for (const id of ['', 'a b', 'a"', 'é', '\u007f', 'x'.repeat(129), '$(id)']) {
    const { fields } = await ask('GET', ORDERS, [KEY, ['X-Request-Id', id]]);
    assert.match(fields.get('x-request-id') ?? '', UUID, id);
  }
  const twice = await ask('GET', ORDERS, [KEY, ['X-Request-Id', 'a'], ['x-request-id', 'b']]);
  assert.match(twice.fields.get('x-request-id') ?? '', UUID);
  const longest = 'aZ09_.:+/=@-'.padEnd(128, 'x');
  const refused = await ask('GET', ORDERS, [['X-REQUEST-ID', longest]]);
  assert.equal(refused.fields.get('x-request-id'), longest, 'a 401 returns the X-Request-Id too');
});

test('if nobody subscribes to the diagnostics channel, the service creates no request id, but returns the id that a client sends', async () => {
  const ask = asking(createShop().service);
  assert.equal((await ask('GET', ORDERS, [KEY])).fields.has('x-request-id'), false);
  assert.equal((await ask('GET', ORDERS, [KEY, ['X-Request-Id', 'mine']])).fields.get('x-request-id'), 'mine');
});

test('if a program listens only to failures, other replies get no id, and their client address is not asked for', async () => {
  const failure = new Error('the cursor is gone');
  let listed: ListedOrders = [{ id: 1n }];
  const options = { store: fakeStore({ list: () => listed }), limiter: createMemoryLimiter(), authenticate };
  const messages: ReplyMessage[] = [];
  const service = createOrderService({ ...options, onFailure: (message) => messages.push(message) });
  let addresses = 0;
  const ask = () =>
    asking({ ...service, respond: (head) => service.respond(head, () => `192.0.2.${++addresses}`) })('GET', ORDERS, [
      KEY,
    ]);
  const { status, fields } = await ask();
  assert.deepEqual([status, fields.has('x-request-id'), addresses, messages], [200, false, 0, []]);
  listed = pagesOf([failure]);
  const { fields: failed } = await ask();
  // A stream can fail after its response has begun.
  listed = pagesOf([[{ id: 1n }], failure]);
  await assert.rejects(ask());
  const ids = messages.map(({ requestId }) => requestId);
  assert.deepEqual([ids[0], new Set(ids).size, addresses], [failed.get('x-request-id'), 2, 2]);
  for (const { requestId = '', status, error, clientAddress, durationMs } of messages) {
    assert.match(requestId, UUID);
    assert.deepEqual([error, clientAddress], [failure, `192.0.2.${status === 503 ? 1 : 2}`]);
    assert.ok(durationMs > 0 && durationMs < 60_000, `${durationMs} ms`);
  }
});

test('onReply gets the replies of its own service or guard, and a listener that fails becomes a warning, not a 500', async (t) => {
  const warnings = t.mock.method(process, 'emitWarning', () => {});
  const own: string[] = [];
  const listening = (name: string) => ({
    onReply({ status, path }: ReplyMessage) {
      own.push(`${name} ${status} ${path}`);
      throw new Error(`${name} is full`);
    },
    onFailure: async () => Promise.reject(new Error('not reached')),
  });
  const { service, limiter } = createShop(listening('service'));
  const guard = createGuard({ limiter, authenticate, ...listening('guard') });
  const other = createShop();
  assert.equal((await asking(service)('GET', ORDERS, [KEY])).status, 200);
  assert.equal((await asking(other.service)('GET', ORDERS, [KEY])).status, 200);
  await guard.admit({ method: 'GET', url: '/invoices', rawHeaders: [] });
  assert.deepEqual(own, [`service 200 ${ORDERS}`, 'guard 401 /invoices']);
  const texts = warnings.mock.calls.map(({ arguments: [text] }) => `${text}`.split(',', 1)[0]);
  assert.deepEqual(texts, ['onReply failed: Error: service is full', 'onReply failed: Error: guard is full']);
});

test('onFailure gets each failure instead of the process warning, also if it rejects', async (t) => {
  const warnings = t.mock.method(process, 'emitWarning', () => {});
  const failure = new Error('down');
  const seen: unknown[] = [];
  const store = fakeStore({ list: () => Promise.reject(failure) });
  const onFailure = async ({ error }: ReplyMessage) => {
    seen.push(error);
    throw new Error('pager unreachable');
  };
  const { service } = createShop({ store, onFailure });
  for (let i = 0; i < 2; i++) assert.equal((await asking(service)('GET', ORDERS, [KEY])).status, 503);
  assert.deepEqual(seen, [failure, failure]);
  assert.match(`${warnings.mock.calls[0]?.arguments[0]}`, /^onFailure failed: Error: pager unreachable/);
  assert.equal(warnings.mock.callCount(), 1);
});

test('only a valid traceparent reaches the diagnostics channel', async (t) => {
  const messages = collectReplies(t);
  const ask = asking(createShop().service);
  const rows: readonly (readonly [sent: string, isValid: boolean])[] = [
    [TRACEPARENT, true],
    [TRACEPARENT.toUpperCase(), false],
    [`${TRACEPARENT}-more`, false],
    [TRACEPARENT.replace(/^00/, 'ff'), false],
    [`${TRACEPARENT.replace(/^00/, '01')}-${'aZ09_.:+/=@-'.padEnd(200, 'x')}`, true],
    [`${TRACEPARENT.replace(/^00/, '01')}-${'x'.repeat(201)}`, false],
    [TRACEPARENT.replace(/4bf92f3577b34da6a3ce929d0e0e4736/, '0'.repeat(32)), false],
    [TRACEPARENT.replace('00f067aa0ba902b7', '0'.repeat(16)), false],
    ['00-1-2-01', false],
    // A quote or a backslash would break the string in a log line.
    [`${TRACEPARENT.replace(/^00/, 'cc')}-"`, false],
    [`${TRACEPARENT.replace(/^00/, 'cc')}-\\`, false],
  ];
  for (const [sent, isValid] of rows) {
    await ask('GET', ORDERS, [KEY, ['traceparent', sent]]);
    assert.equal(messages.at(-1)?.traceparent, isValid ? sent : undefined, sent);
  }
  await ask('GET', ORDERS, [KEY, ['traceparent', TRACEPARENT], ['Traceparent', TRACEPARENT]]);
  assert.equal(messages.at(-1)?.traceparent, undefined, 'sent twice');
});

test('the path that the diagnostics channel reports is cut off and has no secrets, and is absent if the request could not be parsed', async (t) => {
  const messages = collectReplies(t);
  const { service } = createShop();
  const long = `/${'x'.repeat(5_000)}`;
  for (const [url, path] of [
    [long, long.slice(0, 1_024)],
    ['http://h?token=a/SECRET', ''],
    ['http://h/a?next=/b&token=SECRET', '/a'],
    ['http://user:SECRET@h/a', '/a'],
    ['user:SECRET@h:443', ''],
    ['/a#token=SECRET', '/a'],
  ] as const) {
    await service.respond({ ...GET, url });
    assert.equal(messages.at(-1)?.path, path, url);
  }
  await service.refuse('headers_too_large');
  assert.deepEqual([messages.at(-1)?.code, messages.at(-1)?.path], ['headers_too_large', undefined]);
});

test('the diagnostics channel gets one message for a streamed list, when the stream has ended, failed or been abandoned', async (t) => {
  const messages = collectReplies(t);
  const failure = new Error('the cursor is gone');
  const stopped = async (service: OrderService) => {
    const { body } = await service.respond(GET);
    assert.ok(typeof body === 'object' && Symbol.asyncIterator in body);
    const before = messages.length;
    for await (const _ of body) {
      assert.equal(messages.length, before, 'nothing is published before the stream has ended');
      break;
    }
  };
  const read = (service: OrderService) => asking(service)('GET', ORDERS, [KEY]);
  for (const [pages, use, bytes, error] of [
    [[[{ id: 1n }], [{ id: 2n }]], read, '[{"id":1},{"id":2}]'.length, undefined],
    [[[{ id: 1n }], [{ id: 2n }]], stopped, '[{"id":1}'.length, undefined],
    [[[{ id: 1n }], failure], (service) => assert.rejects(read(service)), '[{"id":1}'.length, failure],
  ] as const satisfies [unknown, (service: OrderService) => Promise<unknown>, unknown, unknown][]) {
    const { service } = createShop({ store: fakeStore({ list: () => pagesOf(pages) }) });
    const before = messages.length;
    await use(service);
    await service.close();
    const told = messages.slice(before).map((message) => [message.status, message.bytes, message.error]);
    assert.deepEqual(told, [[200, bytes, error]]);
  }
});
