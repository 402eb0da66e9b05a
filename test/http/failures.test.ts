import assert from 'node:assert/strict';
import { beforeEach, suite, test } from 'node:test';
import { type OrderServiceOptions, PLANS, type ReplyMessage } from 'store-orders';
import { createRedisLimiter } from 'store-orders/redis';
import { fakeStore } from '../support/fake-store.js';
import { assertError, rateLimitOf } from './support/answer.js';
import { onReplies } from './support/replies.js';
import { authenticate, createShop, KEY, ORDERS } from './support/shop.js';
import { type Ask, asking, openShop, WAYS } from './support/ways.js';

const SECRET = 'postgres://me:hunter2@db, key business-key\n    at hunter2';
const failure = Object.assign(new Error(SECRET), { code: 'ECONNREFUSED' });
const fail = () => {
  throw failure;
};

/** Creates a thenable that is not a promise: its `then` returns nothing. */
function thenable(settle: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void) {
  // biome-ignore lint/suspicious/noThenProperty: the test needs an object with `then`
  return { then: settle };
}

type Misbehaviour = () => unknown;

const FAILURES: Readonly<Record<string, Misbehaviour>> = {
  throws: fail,
  rejects: () => Promise.reject(failure),
  'rejects later': () => new Promise(setImmediate).then(fail),
  'returns a thenable that rejects': () => thenable((_, reject) => reject(failure)),
  'returns a thenable that throws': () => thenable(fail),
};

const RUBBISH: readonly unknown[] = [
  ...[undefined, null, false, 0, '', 'constructor', 7n, Symbol('x'), () => 1, [null], {}],
  ...[{ allowed: true }, { allowed: true, windows: [] }, { id: 'x', plan: {} }, { id: 'x', plan: { policies: [] } }],
];

const PARTS = ['authenticate', 'limiter', 'store.list', 'store.cancel'] as const;
type Part = (typeof PARTS)[number];

/** Returns options and their store. The first call of one part misbehaves, and later calls work. */
function faulty(part: Part, misbehave: Misbehaviour) {
  let isFirst = true;
  const { store, limiter } = createShop();
  const replace = <F extends (...args: never[]) => unknown>(name: Part, good: F): F =>
    new Proxy(good, {
      apply(target, self, args) {
        if (name !== part || !isFirst) return Reflect.apply(target, self, args);
        isFirst = false;
        return misbehave();
      },
    });
  const options: Partial<OrderServiceOptions> = {
    authenticate: replace('authenticate', authenticate),
    limiter: { take: replace('limiter', limiter.take) },
    store: fakeStore({ list: replace('store.list', store.list), cancel: replace('store.cancel', store.cancel) }),
  };
  return { options, store };
}

const askFor = (part: Part, ask: Ask) =>
  part === 'store.list' ? ask('GET', ORDERS, [KEY]) : ask('DELETE', `${ORDERS}/1`, [KEY]);

let warnings: Error[] = [];
process.on('warning', (warning) => warnings.push(warning));

/** Waits for the warnings that Node.js has still to emit. */
const settled = () => new Promise(setImmediate);

beforeEach(async () => {
  await settled();
  warnings = [];
});

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    for (const part of PARTS) {
      for (const [how, misbehave] of Object.entries(FAILURES)) {
        test(`if ${part} ${how}, the response is 503 without details, the diagnostics channel reports the error without a warning, and the next request succeeds`, async (t) => {
          const messages: ReplyMessage[] = [];
          t.after(onReplies((message) => messages.push(message)));
          const { ask } = await openShop(t, way, faulty(part, misbehave).options);
          const answer = await askFor(part, ask);
          assertError(answer, 'service_unavailable');
          assert.equal(answer.fields.get('retry-after'), '1');
          assert.doesNotMatch(JSON.stringify([...answer.fields, answer.text]), /ECONN|postgres|business-key|Error:/);
          const told = messages.map(({ status, code, error }) => [status, code, error]);
          assert.deepEqual(told, [[503, 'service_unavailable', failure]]);
          assert.equal((await askFor(part, ask)).status, part === 'store.list' ? 200 : 204);
          await settled();
          assert.deepEqual(warnings, []);
        });
      }
    }
  });
}

for (const part of PARTS) {
  test(`if ${part} returns or resolves to an invalid value, the client gets an error, no order is cancelled, and the next request succeeds`, async () => {
    for (const rubbish of RUBBISH) {
      const returns = [() => rubbish, () => Promise.resolve(rubbish), () => thenable((resolve) => resolve(rubbish))];
      for (const misbehave of returns) {
        const { options, store } = faulty(part, misbehave);
        const ask = asking(createShop(options).service);
        const { status } = await askFor(part, ask);
        const isNoKey = part === 'authenticate' && (rubbish === undefined || rubbish === null);
        assert.ok((isNoKey ? [401] : [500, 503]).includes(status), `${status} for ${String(rubbish)}`);
        assert.equal(store.get(1n)?.status, 'pending');
        assert.equal((await askFor(part, ask)).status, part === 'store.list' ? 200 : 204);
      }
    }
  });
}

test('if reading the pages of a list throws, the response is a 503, whatever was thrown; orders that cannot be serialised lead to a 500', async () => {
  const unserialisable: readonly object[] = [{ id: 1n, petId: Symbol('no number') }];
  const rows: [number, object][] = [
    [500, unserialisable],
    [500, Object.assign([...unserialisable], { version: 1 })],
  ];
  for (const thrown of [failure, 'text', undefined]) {
    const read = () => {
      throw thrown;
    };
    for (const version of [undefined, 'v1']) rows.push([503, { version, [Symbol.asyncIterator]: read }]);
  }
  for (const [status, listed] of rows) {
    const { service } = createShop({ store: fakeStore({ list: () => Object(listed) }) });
    assert.equal((await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY })).status, status);
  }
});

test("if the limiter fails, X-RateLimit-* show the plan's limits with nothing remaining", async () => {
  const { service } = createShop(faulty('limiter', fail).options);
  const { limit, remaining } = rateLimitOf(await asking(service)('GET', ORDERS, [KEY]));
  assert.deepEqual([limit, remaining], [1_000, 0]);
});

test('if clientAddress throws, a request without a key gets a 503, but a request with a valid key is served', async (t) => {
  // A subscriber to the diagnostics channel makes the service ask for the address of each request.
  t.after(onReplies(() => {}));
  const { service } = createShop();
  const head = { method: 'GET', url: ORDERS };
  assert.equal((await service.respond({ ...head, rawHeaders: KEY }, fail)).status, 200);
  assert.equal((await service.respond({ ...head, rawHeaders: [] }, fail)).status, 503);
});

/** Returns the statuses of two requests. */
async function statuses(options: object): Promise<readonly number[]> {
  const { service } = createShop(options);
  const head = { method: 'GET', url: ORDERS, rawHeaders: KEY };
  const found = [(await service.respond(head)).status, (await service.respond(head)).status];
  await settled();
  return found;
}

const reject = (reason: unknown) => () => Promise.reject(reason);
const MASKED = /^authenticate failed: Error ECONNREFUSED: postgres:\/\/\*\*\*@db, key \*\*\*, at .*failures\.test/;
const INVALID = /^authenticate failed: TypeError: .+ with an id and a plan, at /;

const WARNINGS: readonly (readonly [options: object, status: number, says: RegExp])[] = [
  [{ authenticate: fail }, 503, MASKED],
  [{ isKnownKey: fail }, 503, /^isKnownKey failed: Error ECONNREFUSED/],
  [{ limiter: { take: async () => fail() } }, 503, /^limiter\.take failed: Error ECONNREFUSED/],
  [{ store: { list: () => 5, cancel: fail } }, 500, /^listOrders failed: TypeError: .+, at /],
  // Drivers also throw objects that are not errors.
  [{ authenticate: reject({ code: 'X', message: 'down' }) }, 503, /^authenticate failed: Error X: down\. /],
  [{ authenticate: reject({ code: 'X' }) }, 503, /^authenticate failed: Error X\. /],
  [{ authenticate: reject({ name: Symbol('x') }) }, 503, /^authenticate failed: an unreadable object\. /],
  [{ authenticate: () => ({ id: '', plan: PLANS.free }) }, 503, INVALID],
];

for (const [options, status, says] of WARNINGS) {
  test(`without a subscriber to the channel, the first failure of each kind in a service causes a warning: ${says.source}`, async () => {
    assert.deepEqual(await statuses(options), [status, status]);
    const [{ name, message } = assert.fail(), ...others] = warnings;
    assert.deepEqual([name, others], ['StoreOrdersWarning', []]);
    assert.match(message, says);
    assert.match(message, /"store-orders:reply"/);
    assert.doesNotMatch(message, /hunter2|business-key/);
  });
}

test('in a runtime that has no global `process`, a request that fails still gets its response', async (t) => {
  const { process } = globalThis;
  t.after(() => Object.assign(globalThis, { process }));
  Object.defineProperty(globalThis, 'process', { value: undefined, configurable: true, writable: true });
  const options = { store: { list: () => [], cancel: fail }, limiter: { take: () => ({}) } };
  assert.deepEqual(await statuses(options), [500, 500]);
});

test('take() of a limiter throws a TypeError that names an invalid argument', () => {
  for (const { take } of [createShop().limiter, createRedisLimiter({ send: async () => {} })]) {
    for (const [wrong, message] of [
      [['a', {}], /^plan/],
      [['a'], /^plan/],
      [[undefined, PLANS.free], /^key: /],
    ] as const) {
      assert.throws(() => Reflect.apply(take, undefined, wrong), { name: 'TypeError', message });
    }
  }
});
