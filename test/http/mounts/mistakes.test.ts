import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOrderService } from 'store-orders';
import { fastifyPlugin } from 'store-orders/fastify';
import { fetchHandler } from 'store-orders/fetch';
import { createGuard, fetchGuard, nodeGuard } from 'store-orders/guard';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { authenticate, createShop } from '../support/shop.js';

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
