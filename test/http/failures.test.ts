import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, suite, test } from 'node:test';
import { inspect } from 'node:util';
import type { OrderService, OrderServiceOptions, ReplyMessage } from 'store-orders';
import { fakeStore, pagesOf } from '../support/fake-store.js';
import { assertError, rateLimitOf } from './support/answer.js';
import { onReplies } from './support/replies.js';
import { authenticate, createShop, KEY, ORDERS, type Shop } from './support/shop.js';
import { type Ask, core, WAYS } from './support/ways.js';

const SECRET = 'connect ECONNREFUSED /var/run/db.sock: SELECT * FROM orders WHERE key = business-key';
const failure = new Error(SECRET);

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => void unhandled.push(reason);
process.on('unhandledRejection', onUnhandled);
after(() => {
  process.off('unhandledRejection', onUnhandled);
  assert.deepEqual(unhandled, []);
});

const messages: ReplyMessage[] = [];
let stop = () => {};
beforeEach(() => {
  messages.length = 0;
  stop = onReplies((message) => messages.push(message));
});
afterEach(() => stop());

/** Creates a thenable that is not a promise: its `then` returns nothing. */
function thenable(settle: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void) {
  // biome-ignore lint/suspicious/noThenProperty: the test needs an object with `then`
  return { then: settle };
}

type Misbehaviour = () => unknown;

const FAILURES: Readonly<Record<string, Misbehaviour>> = {
  throws: () => {
    throw failure;
  },
  rejects: () => Promise.reject(failure),
  'rejects later': async () => {
    await new Promise(setImmediate);
    throw failure;
  },
  'returns a thenable that rejects': () => thenable((_, reject) => reject(failure)),
  'returns a thenable that throws': () =>
    thenable(() => {
      throw failure;
    }),
};

const RUBBISH: readonly unknown[] = [
  null,
  false,
  0,
  '',
  'constructor',
  7n,
  {},
  { allowed: true },
  { id: 'x', plan: {} },
  { id: 'x', plan: { policies: [] } },
  Symbol('x'),
  () => 1,
  [null],
];

type Part = 'authenticate' | 'limiter' | 'store.list' | 'store.cancel';
const PARTS: readonly Part[] = ['authenticate', 'limiter', 'store.list', 'store.cancel'];

/**
 * Creates a test service with one faulty function, such as `store.list`. The first call of this
 * function misbehaves. Later calls work.
 */
function shopWith(part: Part, misbehave: Misbehaviour): Shop {
  let isFirst = true;
  const shop = createShop();
  // The first call may return a value of a wrong type, as JavaScript code without type checks may
  // do.
  const replace = <F extends (...args: never[]) => unknown>(good: F): F =>
    new Proxy(good, {
      apply(target, self, args) {
        if (!isFirst) return Reflect.apply(target, self, args);
        isFirst = false;
        return misbehave();
      },
    });
  const options: Partial<OrderServiceOptions> = {
    authenticate: part === 'authenticate' ? replace(authenticate) : authenticate,
    limiter: part === 'limiter' ? { take: replace(shop.limiter.take) } : shop.limiter,
    store: fakeStore({
      list: part === 'store.list' ? replace(shop.store.list) : shop.store.list,
      cancel: part === 'store.cancel' ? replace(shop.store.cancel) : shop.store.cancel,
    }),
  };
  return { ...shop, service: createShop(options).service };
}

const ask = (part: Part, ask: Ask) =>
  part === 'store.cancel' ? ask('DELETE', `${ORDERS}/1`, [KEY]) : ask('GET', ORDERS, [KEY]);

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    for (const part of PARTS) {
      for (const [how, misbehave] of Object.entries(FAILURES)) {
        test(`if ${part} ${how}, the response is 503 without details, the diagnostics channel reports the error, and the next request succeeds`, async () => {
          const shop = shopWith(part, misbehave);
          const opened = await way.open(shop.service);
          try {
            const answer = await ask(part, opened.ask);
            assertError(answer, 'service_unavailable');
            assert.equal(answer.fields.get('retry-after'), '1');
            const everything = JSON.stringify([...answer.fields, answer.text]);
            assert.equal(/ECONN|SELECT|business-key|\.sock|Error:/.test(everything), false);
            assert.deepEqual(
              messages.map(({ status, code, error }) => ({ status, code, error })),
              [{ status: 503, code: 'service_unavailable', error: failure }],
            );
            const next = await ask(part, opened.ask);
            assert.equal(next.status, part === 'store.cancel' ? 204 : 200);
          } finally {
            await opened.close();
          }
        });
      }
    }
  });
}

for (const part of PARTS) {
  test(`if ${part} returns or resolves to an invalid value, the client gets an error response, and the next request succeeds`, async () => {
    for (const rubbish of [undefined, ...RUBBISH]) {
      for (const answerWith of [
        () => rubbish,
        () => Promise.resolve(rubbish),
        () => thenable((resolve) => resolve(rubbish)),
      ]) {
        const shop = shopWith(part, answerWith);
        const opened = await core.open(shop.service);
        const answer = await ask(part, opened.ask);
        const isNoKey = part === 'authenticate' && (rubbish === undefined || rubbish === null);
        const expected = isNoKey ? [401] : [500, 503];
        assert.ok(expected.includes(answer.status), `${answer.status} for ${String(rubbish)}`);
        if (part !== 'store.cancel') assert.equal(shop.store.get(1n)?.status, 'pending');
        assert.equal((await ask(part, opened.ask)).status, part === 'store.cancel' ? 204 : 200);
        await shop.service.close();
      }
    }
  });
}

test('orders that cannot be serialised lead to a 500, because the store has not failed', async () => {
  const unserialisable: readonly unknown[] = [{ id: 1n, petId: Symbol('no number') }];
  for (const list of [unserialisable, Object.assign([...unserialisable], { version: 1 })]) {
    const { service } = createShop({ store: fakeStore({ list: () => Object(list) }) });
    assert.equal((await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY })).status, 500);
  }
});

test('if reading the pages of a list throws, the response is a 503, whatever was thrown', async () => {
  for (const thrown of [failure, 'text', undefined]) {
    for (const version of [undefined, 'v1']) {
      const read = () => {
        throw thrown;
      };
      const { service } = createShop({ store: fakeStore({ list: () => ({ version, [Symbol.asyncIterator]: read }) }) });
      assert.equal((await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY })).status, 503);
    }
  }
});

test('if the limiter returns no decision, the request fails before it cancels the order', async () => {
  for (const rubbish of [{}, { allowed: true }, { allowed: true, windows: [] }]) {
    const shop = shopWith('limiter', () => rubbish);
    const { status } = await shop.service.respond({ method: 'DELETE', url: `${ORDERS}/1`, rawHeaders: KEY });
    assert.deepEqual([status, shop.store.get(1n)?.status], [500, 'pending']);
  }
});

test('authenticate, the limiter and the store may return a thenable instead of a promise', async () => {
  for (const part of PARTS) {
    const good = createShop();
    const value: Readonly<Record<Part, Misbehaviour>> = {
      authenticate: () => authenticate('business-key'),
      limiter: () => good.limiter.take('owner', authenticatePlan()),
      'store.list': () => [],
      'store.cancel': () => 'cancelled',
    };
    const shop = shopWith(part, () => thenable((resolve) => resolve(value[part]())));
    const method = part === 'store.cancel' ? 'DELETE' : 'GET';
    const url = part === 'store.cancel' ? `${ORDERS}/1` : ORDERS;
    const reply = await shop.service.respond({ method, url, rawHeaders: KEY });
    assert.equal(reply.status, method === 'DELETE' ? 204 : 200, part);
  }
});

function authenticatePlan() {
  const principal = authenticate('business-key');
  assert.ok(principal !== undefined && 'plan' in principal);
  return principal.plan;
}

test("if the limiter fails, X-RateLimit-* show the plan's limits with nothing remaining", async () => {
  const { open } = core;
  const { ask } = await open(shopWith('limiter', () => Promise.reject(failure)).service);
  const { limit, remaining } = rateLimitOf(await ask('GET', ORDERS, [KEY]));
  assert.deepEqual([limit, remaining], [1_000, 0]);
});

test('the diagnostics channel reports the operation, the order and the id of the key, but never the API key itself', async () => {
  const { service } = createShop();
  await service.respond({ method: 'DELETE', url: `${ORDERS}/1`, rawHeaders: KEY });
  await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY });
  await service.respond({ method: 'GET', url: ORDERS, rawHeaders: ['Authorization', 'Bearer stolen-key'] });
  await service.refuse('headers_too_large');
  assert.doesNotMatch(inspect(messages), /business-key|stolen-key/);
  const told = messages.map(({ status, code, operation, orderId, keyId, plan }) =>
    [status, code, operation, orderId, keyId, plan].filter((value) => value !== undefined),
  );
  assert.deepEqual(told, [
    [204, 'cancelOrder', 1n, 'owner', 'business'],
    [200, 'listOrders', 'owner', 'business'],
    [401, 'invalid_api_key', 'address'],
    [431, 'headers_too_large', 'address'],
  ]);
});

test('the diagnostics channel gets one message for a streamed list, when the stream has ended, failed or been given up', async () => {
  const stopped = async (service: OrderService) => {
    const { body } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY });
    assert.ok(typeof body === 'object' && Symbol.asyncIterator in body);
    assert.equal(messages.length, 0, 'nothing is published before the stream has ended');
    for await (const _ of body) break;
  };
  const read = async (service: OrderService) => (await core.open(service)).ask('GET', ORDERS, [KEY]);
  for (const [pages, use, bytes, error] of [
    [[[{ id: 1n }], [{ id: 2n }]], read, '[{"id":1},{"id":2}]'.length, undefined],
    [[[{ id: 1n }], [{ id: 2n }]], stopped, '[{"id":1}'.length, undefined],
    [[[{ id: 1n }], failure], (service) => assert.rejects(read(service)), '[{"id":1}'.length, failure],
  ] as const satisfies [unknown, (service: OrderService) => Promise<unknown>, unknown, unknown][]) {
    messages.length = 0;
    const { service } = createShop({ store: fakeStore({ list: () => pagesOf(pages) }) });
    await use(service);
    await service.close();
    const told = messages.map((message) => [message.status, message.bytes, message.error]);
    assert.deepEqual(told, [[200, bytes, error]]);
  }
});

test('if clientAddress throws, a request without a key gets a 503, but a request with a valid key is served', async () => {
  const { service } = createShop();
  const clientAddress = () => {
    throw failure;
  };
  const head = { method: 'GET', url: ORDERS };
  assert.equal((await service.respond({ ...head, rawHeaders: KEY }, clientAddress)).status, 200);
  assert.equal((await service.respond({ ...head, rawHeaders: [] }, clientAddress)).status, 503);
});
