import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { beforeEach, test } from 'node:test';
import { createOrderService, PLANS } from 'store-orders';
import { createShop, ORDERS } from './support/shop.js';

let warnings: Error[] = [];
process.on('warning', (warning) => warnings.push(warning));
beforeEach(() => {
  warnings = [];
});

const SECRET = 'postgres://me:hunter2@db, key business-key\n    at hunter2';
const fail = () => {
  throw Object.assign(new Error(SECRET), { code: 'ECONNREFUSED' });
};
const principal = () => ({ id: 'customer-1', plan: PLANS.free });

async function statuses(options: object, count = 2): Promise<readonly number[]> {
  const { store, limiter } = createShop();
  const service = createOrderService({ store, limiter, authenticate: principal, ...options });
  const head = { method: 'GET', url: ORDERS, rawHeaders: ['Authorization', 'Bearer business-key'] };
  const found: number[] = [];
  for (let i = 0; i < count; i++) found.push((await service.respond(head)).status);
  // Warnings are emitted in the next tick.
  await new Promise(setImmediate);
  return found;
}

test('what is published to a subscriber is not warned of', async () => {
  const listener = () => {};
  subscribe('store-orders:reply', listener);
  assert.deepEqual(await statuses({ authenticate: fail }), [503, 503]);
  unsubscribe('store-orders:reply', listener);
  assert.deepEqual(warnings, []);
});

const FAILURES: readonly (readonly [object: object, status: number, says: RegExp])[] = [
  [{ authenticate: fail }, 503, /^authenticate failed: Error ECONNREFUSED at .*warnings\.test/],
  [{ limiter: { take: async () => fail() } }, 503, /^limiter\.take failed: Error ECONNREFUSED/],
  [{ store: { list: async () => fail(), cancel: fail } }, 503, /^store\.list failed: Error ECONNREFUSED/],
  [{ store: { list: () => 5, cancel: fail } }, 500, /^listOrders failed: TypeError at /],
  [{ authenticate: () => ({ plan: PLANS.free }) }, 503, /^authenticate returned a principal without id: /],
  [{ authenticate: async () => ({ id: '', plan: PLANS.free }) }, 503, /./],
  [{ authenticate: () => ({ id: 'customer-1' }) }, 503, /^authenticate returned a principal without plan: /],
];

for (const [options, status, says] of FAILURES) {
  test(`a failure that nobody subscribes to is warned of once: ${says.source}`, async () => {
    assert.deepEqual(await statuses(options), [status, status]);
    if (says.source === '.') return assert.deepEqual(warnings, []);
    assert.deepEqual(
      warnings.map(({ name }) => name),
      ['StoreOrdersWarning'],
    );
    const [{ message }] = warnings as [Error];
    assert.match(message, says);
    assert.match(message, /"store-orders:reply"/);
    assert.doesNotMatch(message, /hunter2|business-key/);
  });
}

test('where a runtime has no process, a failure is answered all the same', async (t) => {
  const { process } = globalThis;
  t.after(() => Object.assign(globalThis, { process }));
  Object.defineProperty(globalThis, 'process', { value: undefined, configurable: true, writable: true });
  assert.deepEqual(
    await statuses({ store: { list: () => [], cancel: fail }, limiter: { take: () => ({}) } }),
    [500, 500],
  );
});
