import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import swagger from '@fastify/swagger';
import { type FastifyInstance, fastify } from 'fastify';
import { fastifyPlugin } from 'store-orders/fastify';
import { fakeStore } from '../../support/fake-store.js';
import { cancel } from '../support/messages.js';
import { open } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS, order } from '../support/shop.js';

const headers = Object.fromEntries([KEY]);

async function listen(t: TestContext, app: FastifyInstance): Promise<string> {
  t.after(() => app.close());
  return app.listen({ port: 0, host: '127.0.0.1' });
}

test('the app fails to start if the prefix is not the beginning of the base path', async () => {
  const app = fastify();
  app.register(fastifyPlugin(createShop().service), { prefix: '/shop' });
  const message = 'prefix: expected the beginning of the service\'s basePath "/v1", not "/shop"';
  await assert.rejects(async () => app.ready(), { name: 'TypeError', message });
});

test('the paths of the service are routes of the app too, below the prefix of the plugin', async () => {
  const perform = () => ({ status: 200, body: 'é' });
  const { service } = createShop({ basePath: '/shop/v1', paths: { '/shop/status:all': { perform } } });
  const app = fastify();
  app.register(fastifyPlugin(service), { prefix: '/shop' });
  app.post('/shop/status', () => 'host');
  assert.equal((await app.inject({ url: '/shop/status:all?a' })).payload, 'é');
  assert.equal((await app.inject({ method: 'DELETE', url: '/shop/status:all' })).headers['allow'], 'GET, HEAD');
  assert.equal((await app.inject({ method: 'POST', url: '/shop/status' })).payload, 'host');

  const other = fastify();
  other.register(fastifyPlugin(createShop({ basePath: '/shop/v1', paths: { '/status': { perform } } }).service), {
    prefix: '/shop',
  });
  const message = 'prefix: expected the beginning of the service\'s path "/status", not "/shop"';
  await assert.rejects(async () => other.ready(), { name: 'TypeError', message });
});

test('colons in the base path do not begin parameters of the route', async () => {
  const app = fastify();
  app.register(fastifyPlugin(createShop({ basePath: '/v1::a' }).service));
  assert.equal((await app.inject({ url: '/v1::a/store/orders', headers })).statusCode, 200);
  assert.equal((await app.inject({ url: '/v1anything/store/orders', headers })).statusCode, 404);
});

test('paths that only a lenient router would match do not reach the service', async () => {
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

test("the service accepts any body, even with an invalid content type, and does not change the host's parsers", async () => {
  const app = fastify();
  const errors: string[] = [];
  app.addHook('onError', async (_request, _reply, error) => void errors.push(error.message));
  app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, body, done) => done(null, { csv: body }));
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, { any: body }));
  app.register(fastifyPlugin(createShop().service));
  app.post('/echo', (request) => request.body);
  for (const [type, payload, echo] of [
    ['application/json', '{"a":1}', '{"a":1}'],
    ['text/csv', 'a,b', '{"csv":"a,b"}'],
    ['text/x', 'x', '{"any":"x"}'],
    ['nonsense', 'x', undefined],
  ] as const) {
    const sent = { payload, headers: { ...headers, 'content-type': type } };
    assert.ok([204, 409].includes((await app.inject({ method: 'DELETE', url: order(1), ...sent })).statusCode), type);
    assert.deepEqual(errors, []);
    const answer = await app.inject({ method: 'POST', url: '/echo', ...sent });
    if (echo !== undefined) assert.equal(answer.payload, echo);
    else assert.deepEqual([answer.statusCode, errors.length], [415, 1]);
  }
});

test("the host's own OpenAPI document lists the host's routes, but no route of the service", async () => {
  const app = fastify();
  await app.register(swagger, { openapi: { info: { title: 'the host', version: '1' } } });
  app.get('/host', () => 'of the host');
  await app.register(fastifyPlugin(createShop().service));
  assert.equal((await app.inject({ url: ORDERS, headers })).statusCode, 200);
  assert.deepEqual(Object.keys(app.swagger().paths ?? {}), ['/host']);
});

test('the response does not wait for the request body', async (t) => {
  const { service, store } = createShop();
  const app = fastify({ forceCloseConnections: true });
  app.register(fastifyPlugin(service));
  const { port } = new URL(await listen(t, app));
  const head = cancel(1, 'Content-Type: application/json', 'Content-Length: 1000');
  const socket = open(Number(port), `${head}{"id"`);
  assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 204 /);
  assert.equal(store.get(1n)?.status, 'cancelled');
});

test("a list that fails midway is not reported to the host as a client's error", async (t) => {
  const reported: Error[] = [];
  const app = fastify({
    clientErrorHandler(error, socket) {
      reported.push(error);
      socket.destroy();
    },
  });
  async function* list() {
    for (const bytes of [10, 200_000]) {
      yield `{"id":1${' '.repeat(bytes)}}`;
      await wait(30);
    }
    throw new Error('the database is gone');
  }
  app.register(fastifyPlugin(createShop({ store: fakeStore({ list }) }).service));
  const response = await fetch(`${await listen(t, app)}${ORDERS}`, { headers });
  await assert.rejects(response.text());
  assert.deepEqual(reported, []);
});

test('over HTTP/2, a list that fails while a hook of the host holds back the response gets a 500', async (t) => {
  const app = fastify({ http2: true });
  app.addHook('onSend', async (_request, _reply, payload) =>
    payload instanceof Readable ? Buffer.concat(await payload.toArray()) : payload,
  );
  async function* list() {
    yield '{"id":1}';
    throw new Error('the database is gone');
  }
  app.register(fastifyPlugin(createShop({ store: fakeStore({ list }) }).service));
  const client = connect(await app.listen({ port: 0, host: '127.0.0.1' }));
  t.after(() => {
    client.destroy();
    return app.close();
  });
  const [answer] = await once(client.request({ ':path': ORDERS, ...headers }), 'response');
  assert.equal(answer[':status'], 500);
});

test("a request that the host's hooks reject goes to the host's error handler and cancels no order", async () => {
  const { service, store } = createShop();
  const app = fastify();
  app.setErrorHandler((error, _request, reply) => reply.code(418).send(`the host: ${String(error)}`));
  app.addHook('preHandler', async () => {
    throw new Error('closed today');
  });
  app.register(fastifyPlugin(service));
  for (const type of ['application/json', 'nonsense', '']) {
    const request = { method: 'DELETE', url: order(1), headers: { ...headers, 'content-type': type } } as const;
    const { statusCode, payload } = await app.inject(request);
    assert.deepEqual([statusCode, payload], [418, 'the host: Error: closed today'], type);
  }
  assert.equal(store.get(1n)?.status, 'pending');
});
