import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { beforeEach, test } from 'node:test';
import { createOrderService, PLANS } from 'store-orders';
import { createRedisLimiter } from 'store-orders/redis';
import { createShop, ORDERS } from './support/shop.js';

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

let warnings: Error[] = [];
process.on('warning', (warning) => warnings.push(warning));
beforeEach(() => {
  warnings = [];
});

const SECRET = 'postgres://me:hunter2@db, key business-key\n    at hunter2';
const fail = () => {
  throw Object.assign(new Error(SECRET), { code: 'ECONNREFUSED' });
};
const reject = (reason: unknown) => () => Promise.reject(reason);
const principal = () => ({ id: 'customer-1', plan: PLANS.free });

/** Returns the statuses of two requests. */
async function statuses(options: object): Promise<readonly number[]> {
  const { store, limiter } = createShop();
  const service = createOrderService({ store, limiter, authenticate: principal, ...options });
  const head = { method: 'GET', url: ORDERS, rawHeaders: ['Authorization', 'Bearer business-key'] };
  const found = [(await service.respond(head)).status, (await service.respond(head)).status];
  // Node.js emits warnings asynchronously.
  await new Promise(setImmediate);
  return found;
}

test('a failure causes no warning if the diagnostics channel has a subscriber', async () => {
  const listener = () => {};
  subscribe('store-orders:reply', listener);
  assert.deepEqual(await statuses({ authenticate: fail }), [503, 503]);
  unsubscribe('store-orders:reply', listener);
  assert.deepEqual(warnings, []);
});

const MASKED = /^authenticate failed: Error ECONNREFUSED: postgres:\/\/\*\*\*@db, key \*\*\*, at .*mistakes\.test/;
const INVALID = /^authenticate failed: TypeError: .+ with an id and a plan, at /;

const FAILURES: readonly (readonly [object: object, status: number, says: RegExp])[] = [
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

for (const [options, status, says] of FAILURES) {
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
