import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { fastifyPlugin } from 'store-orders/fastify';
import { createShop, KEY, ORDERS, order } from '../http/shop.js';

const headers = Object.fromEntries([KEY]);

test('a prefix that the base path does not begin with is refused when the app is started', async () => {
  const app = fastify();
  app.register(fastifyPlugin(createShop().service), { prefix: '/shop' });
  await assert.rejects(async () => app.ready(), { name: 'TypeError', message: /^prefix: .* basePath, \/v1$/ });
});

test('a base path may have a colon, which to the router begins a parameter', async () => {
  const app = fastify();
  app.register(fastifyPlugin(createShop({ basePath: '/v1:beta' }).service));
  assert.equal((await app.inject({ url: '/v1:beta/store/orders', headers })).statusCode, 200);
  assert.equal((await app.inject({ url: '/v1anything/store/orders', headers })).statusCode, 404);
});

test('a router that takes paths easily makes no path one of the service', async () => {
  const { service, store } = createShop();
  const routerOptions = { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true };
  const app = fastify({ routerOptions });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send('not found by the host'));
  app.register(fastifyPlugin(service));
  for (const url of [`${ORDERS}/`, '/V1/store/orders', '/v1//store/orders', '/%761/store/orders', `${order(1)}/`]) {
    for (const method of ['GET', 'DELETE'] as const) {
      assert.equal((await app.inject({ method, url, headers })).payload, 'not found by the host', `${method} ${url}`);
    }
  }
  assert.equal(store.get(1n)?.status, 'pending');
});

test("what the host's hooks refuse is refused by the host's error handler, and does nothing", async () => {
  const { service, store } = createShop();
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => reply.code(418).send(`the host: ${String(error)}`));
  app.addHook('preHandler', async () => {
    throw new Error('closed today');
  });
  app.register(fastifyPlugin(service));
  const { statusCode, payload } = await app.inject({ method: 'DELETE', url: order(1), headers });
  assert.deepEqual([statusCode, payload], [418, 'the host: Error: closed today']);
  assert.equal(store.get(1n)?.status, 'pending');
});

test('the parsers of the host and of other plugins stay as they are', async () => {
  const app = fastify();
  app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, body, done) => done(null, { csv: body }));
  app.register(fastifyPlugin(createShop().service));
  app.post('/echo', (request) => request.body);
  for (const [type, payload, echo] of [
    ['application/json', '{"a":1}', '{"a":1}'],
    ['text/csv', 'a,b', '{"csv":"a,b"}'],
  ] as const) {
    const answer = await app.inject({ method: 'POST', url: '/echo', payload, headers: { 'content-type': type } });
    assert.equal(answer.payload, echo);
  }
  const bad = { method: 'POST', url: '/echo', payload: '{', headers: { 'content-type': 'application/json' } } as const;
  assert.equal((await app.inject(bad)).statusCode, 400);
});
