import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { OrderServiceOptions, ReplyMessage } from 'store-orders';
import { fakeStore } from '../support/fake-store.js';
import { assertError, rateLimitOf } from './support/answer.js';
import { onReplies } from './support/replies.js';
import { authenticate, createShop, KEY, ORDERS } from './support/shop.js';
import { type Ask, core, WAYS, withShop } from './support/ways.js';

const SECRET = 'connect ECONNREFUSED /var/run/db.sock: SELECT * FROM orders WHERE key = business-key';
const failure = new Error(SECRET);

/** Creates a thenable that is not a promise: its `then` returns nothing. */
function thenable(settle: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void) {
  // biome-ignore lint/suspicious/noThenProperty: the test needs an object with `then`
  return { then: settle };
}

type Misbehaviour = () => unknown;

const fail = () => {
  throw failure;
};

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

for (const way of WAYS) {
  suite(`reached by ${way.name}`, () => {
    for (const part of PARTS) {
      for (const [how, misbehave] of Object.entries(FAILURES)) {
        test(`if ${part} ${how}, the response is 503 without details, the diagnostics channel reports the error, and the next request succeeds`, (t) =>
          withShop(
            way,
            async (ask) => {
              const messages: ReplyMessage[] = [];
              t.after(onReplies((message) => messages.push(message)));
              const answer = await askFor(part, ask);
              assertError(answer, 'service_unavailable');
              assert.equal(answer.fields.get('retry-after'), '1');
              const everything = JSON.stringify([...answer.fields, answer.text]);
              assert.doesNotMatch(everything, /ECONN|SELECT|business-key|\.sock|Error:/);
              const told = messages.map(({ status, code, error }) => [status, code, error]);
              assert.deepEqual(told, [[503, 'service_unavailable', failure]]);
              assert.equal((await askFor(part, ask)).status, part === 'store.list' ? 200 : 204);
            },
            faulty(part, misbehave).options,
          ));
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
        const check = async (ask: Ask) => {
          const { status } = await askFor(part, ask);
          const isNoKey = part === 'authenticate' && (rubbish === undefined || rubbish === null);
          assert.ok((isNoKey ? [401] : [500, 503]).includes(status), `${status} for ${String(rubbish)}`);
          assert.equal(store.get(1n)?.status, 'pending');
          assert.equal((await askFor(part, ask)).status, part === 'store.list' ? 200 : 204);
        };
        await withShop(core, check, options);
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

test("if the limiter fails, X-RateLimit-* show the plan's limits with nothing remaining", () =>
  withShop(
    core,
    async (ask) => {
      const { limit, remaining } = rateLimitOf(await ask('GET', ORDERS, [KEY]));
      assert.deepEqual([limit, remaining], [1_000, 0]);
    },
    faulty('limiter', fail).options,
  ));

test('if clientAddress throws, a request without a key gets a 503, but a request with a valid key is served', async (t) => {
  // A subscriber to the diagnostics channel makes the service ask for the address of each request.
  t.after(onReplies(() => {}));
  const { service } = createShop();
  const head = { method: 'GET', url: ORDERS };
  assert.equal((await service.respond({ ...head, rawHeaders: KEY }, fail)).status, 200);
  assert.equal((await service.respond({ ...head, rawHeaders: [] }, fail)).status, 503);
});
