import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { createMemoryLimiter, createMemoryOrderStore, createPlan, PLANS, perMinute } from 'store-orders';
import { createOrderServer, type OrderServerOptions } from 'store-orders/server';
import { assertError, trioOf } from '../../http/support/answer.js';
import { exchange, open, readText } from '../../http/support/raw-socket.js';

const OWN = ['/openapi.json', '/docs', '/docs/base.css'];
const PROBES = ['/healthz', '/readyz'];

async function listen(t: TestContext, options: Partial<OrderServerOptions> = {}) {
  const server = createOrderServer({
    store: createMemoryOrderStore(),
    limiter: createMemoryLimiter(),
    authenticate: (apiKey) => (apiKey === 'ours' ? { id: 'us', plan: PLANS.business } : undefined),
    ...options,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.drain(0));
  const { port } = server.address() as AddressInfo;
  return { port, origin: `http://127.0.0.1:${port}` };
}

function addressPlan(quota: number) {
  return createPlan({ name: 'address', partition: 'address', policies: [perMinute(quota)] });
}

test('the documentation is charged to the address of its reader, with the limit fields; probes are never refused', async (t) => {
  const { origin } = await listen(t, { addressPlan: addressPlan(4) });
  for (const [index, path] of OWN.entries()) {
    const { status, headers } = await fetch(origin + path);
    const fields = [headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')];
    assert.deepEqual([status, ...fields], [200, '4', `${3 - index}`]);
  }
  assert.equal((await fetch(`${origin}/v1/store/orders`)).status, 401);
  for (const path of OWN) {
    const { status, headers } = await fetch(origin + path);
    assert.deepEqual([status, headers.get('retry-after'), headers.get('connection')], [429, '60', 'close'], path);
  }
  for (const path of PROBES) {
    const { status, headers } = await fetch(origin + path);
    assert.deepEqual([status, headers.get('connection'), headers.get('x-ratelimit-limit')], [200, 'close', null]);
  }
});

test('429 without a valid key closes the connection, 401 does not, and a valid key keeps its own', async (t) => {
  const plan = createPlan({ name: 'one', policies: [perMinute(1)] });
  const { port } = await listen(t, {
    addressPlan: addressPlan(2),
    authenticate: (apiKey) => (apiKey === 'ours' ? { id: 'us', plan } : undefined),
  });
  const keyless = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\n\r\n';
  const { answers } = await exchange(port, keyless.repeat(5));
  assert.deepEqual(
    answers.map(({ status, fields }) => [status, fields.get('connection')]),
    [
      [401, 'keep-alive'],
      [401, 'keep-alive'],
      [429, 'close'],
    ],
  );
  const keyed = 'GET /v1/store/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ours\r\n';
  const own = await exchange(port, `${keyed}\r\n${keyed}\r\n${keyed}Connection: close\r\n\r\n`);
  assert.deepEqual(
    own.answers.map(({ status }) => status),
    [200, 429, 429],
  );
});

test('a second Host is refused on every path, and content closes the connection on every path', async (t) => {
  const { port } = await listen(t);
  for (const [index, path] of [...OWN, ...PROBES].entries()) {
    const hosts = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`);
    const [refused = assert.fail()] = hosts.answers;
    assertError(refused, 'bad_request');
    assert.equal(trioOf(refused).remaining, 599 - 2 * index, path);
    // It ends, so the server has closed it.
    const text = await readText(open(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`));
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)*Connection: close\r\n/, path);
  }
});

test('another method than GET and HEAD is refused with the Error object', async (t) => {
  const { port } = await listen(t);
  for (const path of OWN) {
    const { answers } = await exchange(port, `DELETE ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [answer = assert.fail()] = answers;
    assertError(answer, 'method_not_allowed');
    assert.equal(answer.fields.get('allow'), 'GET, HEAD');
  }
});

test('the documentation is compressed for clients that accept it, and each coding has a tag of its own', async (t) => {
  const { port } = await listen(t);
  const get = async (path: string, fields = '') => {
    const socket = open(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields}\r\n`);
    const text = await readText(socket);
    const at = text.indexOf('\r\n\r\n');
    const field = (name: string) => new RegExp(`\r\n${name}: ([^\r]+)`).exec(text.slice(0, at))?.[1];
    return { status: text.slice(9, 12), content: Buffer.from(text.slice(at + 4), 'latin1'), field };
  };
  for (const path of OWN) {
    const plain = await get(path);
    assert.deepEqual([plain.field('Content-Encoding'), plain.field('Vary')], [undefined, 'Accept-Encoding']);
    for (const [coding, decompress] of [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const) {
      const accepts = `Accept-Encoding: ${coding}\r\n`;
      const { field, content } = await get(path, accepts);
      assert.deepEqual([field('Content-Encoding'), field('Vary')], [coding, 'Accept-Encoding']);
      assert.deepEqual(decompress(content), plain.content);
      assert.ok(content.length < 0.5 * plain.content.length, `${path} ${coding}: ${content.length}`);
      assert.notEqual(field('ETag'), plain.field('ETag'));
      const again = await get(path, `${accepts}If-None-Match: ${field('ETag')}\r\n`);
      assert.deepEqual([again.status, again.content.length], ['304', 0]);
      assert.equal((await get(path, `If-None-Match: ${field('ETag')}\r\n`)).status, '200');
    }
  }
});

test('however many ask at once whether the server is ready, its backends are asked once', async (t) => {
  let asked = 0;
  let answer = (_: 'ok') => {};
  const database = () => {
    asked++;
    return new Promise<'ok'>((resolve) => {
      answer = resolve;
    });
  };
  const { origin } = await listen(t, { backends: { database } });
  const waiting = Array.from({ length: 20 }, () => fetch(`${origin}/readyz`));
  const late = fetch(`${origin}/healthz`);
  await late;
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(asked, 1);
  answer('ok');
  for (const response of await Promise.all(waiting)) assert.equal(response.status, 200);
});

test('/ and /docs/ lead to the page, and a browser that asks for an icon asks once a week', async (t) => {
  const { origin } = await listen(t);
  for (const path of ['/', '/docs/', '/?from=mail']) assert.equal((await fetch(origin + path)).url, `${origin}/docs`);
  const icon = await fetch(`${origin}/favicon.ico`);
  assert.deepEqual([icon.status, icon.headers.get('cache-control')], [204, 'public, max-age=604800']);
  assert.ok(icon.headers.has('x-ratelimit-limit'));
});
