import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import express from 'express';
import Koa from 'koa';
import inject from 'light-my-request';
import { createGuard, nodeGuard } from 'store-orders/guard';
import { forwardedAddress, nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { authenticate, createShop, KEY, ORDERS } from '../support/shop.js';
import { serve } from './support/servers.js';

/** Collects the warnings of the process until the end of the test. */
function warningsOf(t: TestContext): string[] {
  const warnings: string[] = [];
  t.mock.method(process, 'emitWarning', (text: string) => warnings.push(text));
  return warnings;
}

const headers = { 'X-Forwarded-For': '198.51.100.7' };
const FORWARDED =
  'A request has the field X-Forwarded-For, which is ignored because no proxy is trusted. If a proxy is in front of this ' +
  'server, all its clients share the limits of one address: pass clientAddress: forwardedAddress(N), where N is the ' +
  'number of proxies, or set "trust proxy" of Express.';

const expressApp = (proxies: number | string) =>
  express().set('trust proxy', proxies).use(nodeHandler(createShop().service));

for (const [name, createListener, count] of [
  ['nodeHandler', () => nodeHandler(createShop().service), 1],
  [
    'nodeHandler with clientAddress',
    () => nodeHandler(createShop().service, { clientAddress: forwardedAddress(1) }),
    0,
  ],
  ['Express', () => expressApp(0), 1],
  ['Express that trusts a proxy', () => expressApp(1), 0],
  ['Express that trusts a proxy other than the peer', () => expressApp('192.0.2.1'), 0],
  [
    'nodeGuard in Express',
    () => express().use(nodeGuard(createGuard({ limiter: createShop().limiter, authenticate }))),
    1,
  ],
] satisfies [string, () => RequestListener, number][]) {
  test(`${name} warns ${count === 1 ? 'once' : 'never'} of X-Forwarded-For in requests that are limited by address`, async (t) => {
    const warnings = warningsOf(t);
    const url = `http://127.0.0.1:${await serve(t, createServer(createListener()))}${ORDERS}`;
    await fetch(url);
    await fetch(url, { headers: { ...headers, ...Object.fromEntries([KEY]) } });
    assert.deepEqual(warnings, []);
    for (let times = 0; times < 2; times++) assert.equal((await fetch(url, { headers })).status, 401);
    assert.deepEqual(warnings, Array(count).fill(FORWARDED));
  });
}

test('an emulation of node:http is given the address, so X-Forwarded-For causes no warning', async (t) => {
  const warnings = warningsOf(t);
  assert.equal((await inject(nodeHandler(createShop().service), { url: ORDERS, headers })).statusCode, 401);
  assert.deepEqual(warnings, []);
});

const koaUnder = (prefix: string, service: Parameters<typeof koaMiddleware>[0]) =>
  new Koa()
    .use((ctx, next) => {
      if (ctx.url.startsWith(prefix)) ctx.url = ctx.url.slice(prefix.length);
      return next();
    })
    .use(koaMiddleware(service))
    .callback();

for (const [name, mount] of [
  ['nodeHandler in Express', (prefix, service) => express().use(prefix, nodeHandler(service))],
  ['koaMiddleware', koaUnder],
] satisfies [string, (prefix: string, service: Parameters<typeof nodeHandler>[0]) => RequestListener][]) {
  test(`${name} warns once if its prefix is missing in basePath, but not of other paths`, async (t) => {
    const warnings = warningsOf(t);
    for (const [basePath, status] of [
      ['/v1', 404],
      ['/api/v1', 200],
    ] as const) {
      const listener = mount('/api', createShop({ basePath }).service);
      const origin = `http://127.0.0.1:${await serve(t, createServer(listener))}`;
      for (const path of ['/api/v1/pets', '/v1/pets', '/api/api/v1/store/orders']) await fetch(origin + path);
      assert.deepEqual(warnings, []);
      for (const query of ['', '?page=1']) {
        const response = await fetch(`${origin}/api/v1/store/orders${query}`, { headers: [KEY] });
        assert.equal(response.status, status);
      }
      const expected =
        'The service is mounted under "/api", but its basePath is "/v1", so its requests are passed to the host. Create it ' +
        'with basePath: "/api/v1".';
      assert.deepEqual(warnings.splice(0), status === 404 ? [expected] : []);
    }
  });
}

test('a target that the host has rewritten causes no warning', async (t) => {
  const warnings = warningsOf(t);
  const app = new Koa().use((ctx, next) => {
    ctx.url = ORDERS;
    return next();
  });
  const server = createServer(app.use(koaMiddleware(createShop().service)).callback());
  assert.equal(
    (await fetch(`http://127.0.0.1:${await serve(t, server)}/all/orders/of/the/shop`, { headers: [KEY] })).status,
    404,
  );
  assert.deepEqual(warnings, []);
});
