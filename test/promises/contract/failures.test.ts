import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { OrderServiceOptions } from 'store-orders';
import { assertError, createAnswer, rateLimitOf, retryAfterOf } from '../../http/support/answer.js';
import { collectReplies, onReplies } from '../../http/support/replies.js';
import { authenticate, createShop, GET, KEY, ORDERS } from '../../http/support/shop.js';
import { type Ask, asking, openShop, WAYS } from '../../http/support/ways.js';
import { fakeStore, pagesOf } from '../../support/fake-store.js';
import { fail, failure, settled, warnings } from './support/failing.js';

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

/** Returns options and their store. One part misbehaves while `outage.calls` are left, and then works. */
function faulty(part: Part, misbehave: Misbehaviour, outage = { calls: 1 }) {
  const { store, limiter } = createShop();
  const replace = <F extends (...args: never[]) => unknown>(name: Part, good: F): F =>
    new Proxy(good, {
      apply: (target, self, args) =>
        name === part && outage.calls-- > 0 ? misbehave() : Reflect.apply(target, self, args),
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
        test(`if ${part} ${how}, the response is 503 without details, the diagnostics channel reports the error without a warning, and the next request succeeds`, async (t) => {
          const messages = collectReplies(t);
          const { ask } = await openShop(t, way, faulty(part, misbehave).options);
          const answer = await askFor(part, ask);
          assertError(answer, 'service_unavailable');
          assert.equal(answer.fields.get('retry-after'), '1');
          assert.doesNotMatch(JSON.stringify([...answer.fields, answer.text]), /ECONN|postgres|business-key|Error:/);
          const told = messages.map(({ status, code, keyId, error }) => [status, code, keyId, error]);
          const keyId = part === 'authenticate' ? undefined : 'owner';
          assert.deepEqual(told, [[503, 'service_unavailable', keyId, failure]]);
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

test('if reading the pages of a list throws, the response is a 503 and an Error is published, whatever was thrown; orders that cannot be serialised lead to a 500', async (t) => {
  const messages = collectReplies(t);
  const unserialisable: readonly object[] = [{ id: 1n, petId: Symbol('no number') }];
  const noNumber = new TypeError('Cannot convert a Symbol value to a string');
  const rows: [number, object, Error][] = [
    [500, unserialisable, noNumber],
    [500, Object.assign([...unserialisable], { version: 1 }), noNumber],
  ];
  for (const thrown of [failure, 'text', null, undefined]) {
    const error = thrown === failure ? failure : new Error(`${thrown}`);
    const read = () => {
      throw thrown;
    };
    for (const version of [undefined, 'v1']) rows.push([503, { version, [Symbol.asyncIterator]: read }, error]);
  }
  for (const [status, listed, error] of rows) {
    const { service } = createShop({ store: fakeStore({ list: () => Object(listed) }) });
    assert.equal((await service.respond(GET)).status, status);
    assert.deepEqual(messages.at(-1)?.error, error);
  }
});

test('a list that its store returns wrongly is a 500 without details, and the mistake is published; the process is warned once', async (t) => {
  const ascending = Array.from({ length: 2_000 }, (_, id): { id: unknown } => ({ id: BigInt(id) }));
  const noArray = 'store.list: expected an array of orders, or pages';
  const rows: readonly [listed: unknown, message: string][] = [
    [null, noArray],
    [undefined, noArray],
    [[null], 'store.list: expected a bigint as the id of an order, got undefined'],
    [[{ id: '7' }], 'store.list: expected a bigint as the id of an order, got string'],
    [[{ id: 2 ** 53 }], 'store.list: expected a bigint as the id of an order, got number'],
    [[{ id: 2n }, { id: 1n }], 'store.list: expected orders with ascending ids, got 1 after 2'],
    [[{ id: 1n }, { id: 1n }], 'store.list: expected orders with ascending ids, got 1 after 1'],
    [ascending.with(512, { id: 511n }), 'store.list: expected orders with ascending ids, got 511 after 511'],
    [ascending.with(1_999, { id: '1999' }), 'store.list: expected a bigint as the id of an order, got string'],
  ];
  let listed: unknown;
  const { service } = createShop({ store: Object.assign(fakeStore(), { list: () => listed }) });
  for ([listed] of rows) {
    const { status, body } = await service.respond(GET);
    assert.deepEqual([status, JSON.parse(String(body)).code], [500, 'internal_error']);
    assert.doesNotMatch(String(body), /store/);
  }
  await settled();
  assert.deepEqual(warnings.length, 1);
  assert.match(String(warnings[0]), /listOrders failed: TypeError: store\.list: expected an array of orders, or pages/);
  const messages = collectReplies(t);
  for (const [wrong, message] of rows) {
    listed = wrong;
    await service.respond(GET);
    assert.deepEqual(messages.at(-1)?.error, new TypeError(message));
  }
  listed = [{ id: -1 }, { id: 0n }, { id: 1 }];
  assert.equal((await service.respond(GET)).status, 200, 'small numbers are exact too');
});

for (const part of PARTS) {
  test(`while ${part} goes on failing, Retry-After grows from 1 to 30 s with the time, not with the number of requests, and a success or a quiet minute ends that`, async (t) => {
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    t.mock.timers.enable({ apis: ['Date'], now: 5_000 });
    const outage = { calls: Number.POSITIVE_INFINITY };
    const ask = asking(createShop(faulty(part, fail, outage).options).service);
    const wait = async () => {
      const answer = await askFor(part, ask);
      assertError(answer, 'service_unavailable');
      const waitS = retryAfterOf(answer);
      // Nothing remains of the plan's limit, and the reset is in the second of Retry-After.
      if (part === 'limiter') assert.deepEqual(rateLimitOf(answer), { limit: 1_000, remaining: 0, reset: 5 + waitS });
      return waitS;
    };
    const waits: number[] = [];
    for (; nowMs < 1_000_000; nowMs += (waits.at(-1) ?? 0) * 1_000 + 5) {
      const many = await Promise.all(Array.from({ length: 20 }, wait));
      assert.equal(new Set(many).size, 1);
      waits.push(many[0] ?? 0);
    }
    assert.deepEqual([waits.slice(0, 7), waits.length], [[1, 2, 4, 8, 16, 30, 30], 38]);
    outage.calls = 0;
    assert.ok((await askFor(part, ask)).status < 300);
    outage.calls = Number.POSITIVE_INFINITY;
    assert.equal(await wait(), 1);
    nowMs += 60_001;
    assert.equal(await wait(), 1);
  });
}

test('while the pages of lists fail, Retry-After grows too, although store.list itself succeeds, until a list has been read', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  let pages = [failure];
  const { service } = createShop({ store: fakeStore({ list: () => pagesOf(pages) }) });
  const ask = asking(service);
  for (const waitS of [1, 2, 4]) {
    assert.equal(retryAfterOf(await ask('GET', ORDERS, [KEY])), waitS);
    nowMs += waitS * 1_000;
  }
  pages = [];
  assert.equal((await ask('GET', ORDERS, [KEY])).text, '[]');
  pages = [failure];
  assert.equal(retryAfterOf(await ask('GET', ORDERS, [KEY])), 1);
});

test('if clientAddress throws, a request without a key gets a 503, but a request with a valid key is served', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 5_000 });
  const { service } = createShop();
  // A subscriber to the diagnostics channel makes the service ask for the address of each request.
  const unsubscribe = onReplies(() => {});
  assert.equal((await service.respond(GET, fail)).status, 200);
  unsubscribe();
  const { status, headers } = await service.respond({ ...GET, rawHeaders: [] }, fail);
  assert.deepEqual([status, rateLimitOf(createAnswer(status, headers, '')).reset], [503, 6]);
  await settled();
  assert.match(`${warnings}`, /: clientAddress failed: Error ECONNREFUSED: /);
});
