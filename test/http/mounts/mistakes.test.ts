import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { beforeEach, test } from 'node:test';
import { createMemoryLimiter, createOrderService, PLANS } from 'store-orders';
import { fastifyPlugin } from 'store-orders/fastify';
import { fetchHandler } from 'store-orders/fetch';
import { createGuard, fetchGuard, nodeGuard } from 'store-orders/guard';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { createOpenApiDocument } from 'store-orders/openapi';
import { createRedisLimiter } from 'store-orders/redis';
import { authenticate, createShop, ORDERS } from '../support/shop.js';

const { service, store, limiter } = createShop();
const guard = createGuard({ limiter, authenticate });

const MISTAKES: readonly (readonly [make: (...wrong: never[]) => unknown, wrong: readonly unknown[], says: RegExp])[] =
  [
    [createOrderService, [], /^options: expected an object with store, .*limiter, authenticate/],
    [createOrderService, [{ store, authenticate }], /^limiter: /],
    [createOrderService, [{ store, limiter }], /^authenticate: /],
    [createOrderService, [{ limiter, authenticate }], /^store: /],
    [createOrderService, [{ store, limiter, authenticate, basepath: '/v2' }], /^basepath: unknown option; .*basePath/],
    [createGuard, [], /^options: /],
    [createGuard, [{ limiter, authenticate, store }], /^store: unknown option/],
    [createMemoryLimiter, [{ maxAdresses: 5 }], /^maxAdresses: unknown option; .*maxAddresses/],
    [createMemoryLimiter, [null], /^options: /],
    [createRedisLimiter, [], /^options: /],
    [createRedisLimiter, [{ send: async () => {}, keyPrefix: 'x' }], /^keyPrefix: unknown option; .*prefix/],
    ...[limiter.take, createRedisLimiter({ send: async () => {} }).take].flatMap((take) => [
      [take, ['a', {}], /^plan/] as const,
      [take, ['a'], /^plan/] as const,
      [take, [undefined, PLANS.free], /^key: /] as const,
    ]),
    [createOpenApiDocument, [{ basepath: '/v2' }], /^basepath: unknown option; .*basePath/],
    [nodeHandler, [], /^service: /],
    [nodeHandler, [{ store, limiter, authenticate }], /^service: .*respond/],
    [nodeHandler, [service, { clientAdress: () => '' }], /^clientAdress: unknown option; .*clientAddress/],
    [nodeHandler(service).attach, [], /^server: /],
    [fetchHandler, [], /^service: /],
    [fetchHandler, [service, { trustProxy: 1 }], /^trustProxy: /],
    [fastifyPlugin, [], /^service: /],
    [koaMiddleware, [], /^service: /],
    [nodeGuard, [], /^guard: /],
    [nodeGuard, [guard, { next: true }], /^next: /],
    [fetchGuard, [], /^guard: /],
    [fetchGuard, [guard], /^handle: /],
    [fetchGuard, [guard, () => new Response(), { address: '' }], /^address: /],
  ];

for (const [index, [make, wrong, says]] of MISTAKES.entries()) {
  test(`${index + 1}: ${make.name} throws a TypeError: ${says.source}`, () => {
    assert.throws(() => Reflect.apply(make, undefined, wrong), { name: 'TypeError', message: says });
  });
}

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

const FAILURES: readonly (readonly [object: object, status: number, says: RegExp])[] = [
  [
    { authenticate: fail },
    503,
    /^authenticate failed: Error ECONNREFUSED: postgres:\/\/\*\*\*@db, key \*\*\*, at .*mistakes\.test/,
  ],
  [{ isKnownKey: fail }, 503, /^isKnownKey failed: Error ECONNREFUSED/],
  [{ limiter: { take: async () => fail() } }, 503, /^limiter\.take failed: Error ECONNREFUSED/],
  [{ store: { list: async () => fail(), cancel: fail } }, 503, /^store\.list failed: Error ECONNREFUSED/],
  [{ store: { list: () => 5, cancel: fail } }, 500, /^listOrders failed: TypeError: .+, at /],
  ...[{ plan: PLANS.free }, { id: '', plan: PLANS.free }, { id: 'customer-1' }].map(
    (principal) =>
      [
        { authenticate: () => principal },
        503,
        /^authenticate failed: TypeError: .+ with an id and a plan, at /,
      ] as const,
  ),
];

for (const [options, status, says] of FAILURES) {
  test(`without a subscriber to the channel, the first failure of each kind in a service causes a warning: ${says.source}`, async () => {
    assert.deepEqual(await statuses(options), [status, status]);
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

test('in a runtime that has no global `process`, a request that fails still gets its response', async (t) => {
  const { process } = globalThis;
  t.after(() => Object.assign(globalThis, { process }));
  Object.defineProperty(globalThis, 'process', { value: undefined, configurable: true, writable: true });
  assert.deepEqual(
    await statuses({ store: { list: () => [], cancel: fail }, limiter: { take: () => ({}) } }),
    [500, 500],
  );
});
