import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLANS, type RequestHead } from 'store-orders';
import { bearer, createShop, GET, KEY, ORDERS } from '../../http/support/shop.js';
import { fakeStore, pagesOf } from '../../support/fake-store.js';
import { fail, failure, settled, warnings } from './support/failing.js';

/** Returns the statuses of two requests. */
async function statuses(options: object, head: RequestHead = GET): Promise<readonly number[]> {
  const { service } = createShop(options);
  const found = [(await service.respond(head)).status, (await service.respond(head)).status];
  await settled();
  return found;
}

const reject = (reason: unknown) => () => Promise.reject(reason);
const take = async () => fail();
const storing = (methods: object) => ({ store: { ...fakeStore(), ...methods } });
const DELETE = { method: 'DELETE', url: `${ORDERS}/1`, rawHeaders: KEY };
const SHORT_KEY = { ...DELETE, rawHeaders: bearer('data') };
const CONDITIONAL = { ...DELETE, rawHeaders: [...KEY, 'If-Match', '"a"'] };

const MASKED = /^authenticate failed: Error ECONNREFUSED: postgres:\/\/\*\*\*@db, key \*\*\*, at .*failing/;
const INVALID = /^authenticate failed: TypeError: expected a principal with an id and a plan, at /;
const UNKNOWN =
  /^cancelOrder .+ store\.cancel: unknown outcome ".*"; expected one of cancelled, already_shipped, already_cancelled, not_pending, not_found, at /;

/** What a warning says before {@link ADVICE}. */
const WARNINGS: readonly (readonly [says: RegExp, status: number, options: object, head?: RequestHead])[] = [
  [MASKED, 503, { authenticate: fail }],
  [/^authenticateKnown failed: Error ECONNREFUSED: /, 503, { authenticateKnown: fail }],
  [/^limiter\.take failed: Error ECONNREFUSED: /, 503, { limiter: { take } }],
  [/^limiter\.take failed: Error ECONNREFUSED: /, 503, { limiter: { take }, authenticateKnown: () => undefined }],
  [/^store\.list failed: Error ECONNREFUSED: /, 503, storing({ list: fail })],
  [/^store\.list failed: Error ECONNREFUSED: /, 503, storing({ list: () => pagesOf([failure]) })],
  [/^store\.cancel failed: Error ECONNREFUSED: /, 503, storing({ cancel: fail }), DELETE],
  [/^store\.get failed: Error ECONNREFUSED: /, 503, storing({ get: fail }), CONDITIONAL],
  [/^the service failed: TypeError: limiter\.take: expected a decision, /, 500, { limiter: { take: () => ({}) } }],
  [
    /^the service failed: TypeError: limiter\.take: expected a decision, at checkDecision /,
    500,
    { limiter: { take: () => undefined }, authenticateKnown: () => undefined },
  ],
  [/^listOrders .+ store\.list: expected an array of orders, or pages, at /, 500, storing({ list: () => 5 })],
  [UNKNOWN, 500, storing({ cancel: () => 'shipped' }), DELETE],
  [INVALID, 503, { authenticate: () => ({ id: '', plan: PLANS.free }) }],
  [/^authenticate failed: Error: x{300}, at /, 503, { authenticate: reject(new Error('x'.repeat(301))) }],
  // A key that is a part of words is too short to be a secret.
  [
    /^authenticate failed: Error: the database is down, at /,
    503,
    { authenticate: reject(new Error('the database is down')) },
    SHORT_KEY,
  ],
  // Drivers also throw objects that are not errors.
  [/^authenticate failed: Error X: down$/, 503, { authenticate: reject({ code: 'X', message: 'down' }) }],
  [/^authenticate failed: Error X$/, 503, { authenticate: reject({ code: 'X' }) }],
  [/^authenticate failed: an unreadable object$/, 503, { authenticate: reject({ name: Symbol('x') }) }],
];

const ADVICE =
  '. Further failures of this kind are not shown here. ' +
  'To receive every failure, subscribe to the diagnostics channel "store-orders:reply".';

for (const [says, status, options, head] of WARNINGS) {
  test(`without a subscriber to the channel, the first failure of each kind in a service causes a warning: ${says.source}`, async () => {
    assert.deepEqual(await statuses(options, head), [status, status]);
    const [{ name, message } = assert.fail(), ...others] = warnings;
    assert.deepEqual([name, others], ['StoreOrdersWarning', []]);
    assert.equal(message.slice(-ADVICE.length), ADVICE);
    assert.match(message.slice(0, -ADVICE.length), says);
    assert.doesNotMatch(message, /hunter2|business-key/);
  });
}

test('in a runtime whose global `process` is missing or empty, a request that fails still gets its response', async (t) => {
  const { process } = globalThis;
  t.after(() => Object.assign(globalThis, { process }));
  for (const value of [undefined, {}]) {
    Object.defineProperty(globalThis, 'process', { value, configurable: true, writable: true });
    assert.deepEqual(await statuses({ limiter: { take: () => ({}) } }), [500, 500]);
  }
});
