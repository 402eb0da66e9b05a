import assert from 'node:assert/strict';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMemoryOrderStore } from 'store-orders';
import { KEYED } from './support/client.js';
import { listen } from './support/order-server.js';

/** A request head without its last line. */
const HEAD = KEYED.slice(0, -2);

test('health checks need no key: /healthz reports that the server runs, /readyz whether its backends work', async (t) => {
  let state: 'ok' | 'degraded' | 'unavailable' | Error = 'ok';
  const database = () => (state instanceof Error ? Promise.reject(state) : state);
  const { origin: url } = await listen(t, { backends: { database, quotas: () => 'ok' }, basePath: '' });
  const answer = async (path: string, method = 'GET') => {
    const response = await fetch(url + path, { method });
    assert.equal(response.headers.get('retry-after'), response.status === 503 ? '1' : null);
    return [response.status, await response.text()];
  };
  assert.deepEqual(await answer('/healthz'), [200, '{"status":"ok"}']);
  const ready = (database: string) => `{"status":"ok","backends":{"database":"${database}","quotas":"ok"}}`;
  assert.deepEqual(await answer('/readyz'), [200, ready('ok')]);
  assert.deepEqual(await answer('/readyz', 'HEAD'), [200, '']);
  state = 'degraded';
  assert.deepEqual(await answer('/readyz'), [200, ready('degraded')]);
  for (state of ['unavailable', new Error('secret')] as const) {
    const [status, text] = await answer('/readyz');
    const { message, ...error } = JSON.parse(String(text));
    assert.equal(typeof message, 'string');
    const backends = { database: 'unavailable', quotas: 'ok' };
    assert.deepEqual([status, error], [503, { code: 'service_unavailable', status: 503, backends }]);
  }
  assert.deepEqual(await answer('/healthz'), [200, '{"status":"ok"}']);
  const [, methodNotAllowed] = await answer('/docs', 'POST');
  assert.match(String(methodNotAllowed), /^\{"code":"method_not_allowed",/);
  assert.deepEqual(await answer('/healthz', 'POST'), [405, methodNotAllowed]);
  assert.equal((await answer('/store/orders'))[0], 401);
});

test('a request with Expect: 100-continue gets its final response at once', async (t) => {
  const { open } = await listen(t);
  const socket = await open();
  socket.write(`${HEAD}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
  assert.match(await text(socket), /^HTTP\/1\.1 200 OK\r\n/);
});

test('a client that sends no complete request head within 10 s gets a 408 with an Error object', async (t) => {
  const times = ['headersTimeout', 'requestTimeout', 'connectionsCheckingInterval'] as const;
  const { open } = await listen(t, {}, (server) => {
    assert.deepEqual(
      times.map((name) => Reflect.get(server, name)),
      [10_000, 30_000, 2_000],
    );
    // The test takes a twentieth of the time with these shorter time-outs.
    for (const name of times) Reflect.set(server, name, Reflect.get(server, name) / 20);
  });
  const served = await open();
  served.write(KEYED);
  await once(served, 'data');
  const slow = await Promise.all(
    ['', 'GET /v1', HEAD].map(async (sent) => {
      const socket = await open();
      socket.write(sent);
      return text(socket);
    }),
  );
  for (const [index, answer] of slow.entries()) {
    assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/);
    assert.match(answer, new RegExp(`\r\nX-RateLimit-Remaining: ${599 - index}\r\n`));
    assert.match(answer, /\r\nConnection: close\r\n/);
    assert.match(answer, /\r\n\r\n\{"code":"request_timeout","message":"[^"]+","status":408\}$/);
  }
  // A connection that has already got a response is allowed to be idle for longer.
  served.write(KEYED);
  assert.match(String((await once(served, 'data'))[0]), /^HTTP\/1\.1 200 /);
  served.destroy();
});

test('a draining server closes connections without a request, and serves a request that has partly arrived', async (t) => {
  const { server, open, origin: url } = await listen(t);
  const silent = await open();
  const idle = await open();
  idle.write(KEYED);
  await once(idle, 'data');
  const arriving = await open();
  arriving.write(HEAD);
  await fetch(`${url}/healthz`);

  const drained = server.drain();
  await Promise.all([once(silent, 'close'), once(idle, 'close')]);
  arriving.write('\r\n');
  const answer = await text(arriving);
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(answer, /\r\nConnection: close\r\n/i);
  await drained;
  await assert.rejects(fetch(`${url}/healthz`));
});

test('a request that arrives just after draining begins is served, on a new connection and on an idle one', async (t) => {
  const { server, open } = await listen(t);
  const fresh = await open();
  const idle = await open();
  idle.write(KEYED);
  await once(idle, 'data');
  const drained = server.drain();
  for (const socket of [fresh, idle]) {
    socket.write(KEYED);
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answer, /\r\nConnection: close\r\n/i);
  }
  await drained;
});

test('a draining server sends all of a long response, however slowly the client reads it', async (t) => {
  const orders = Array.from({ length: 300_000 }, (_, id) => ({ id, petId: 123_456_789, quantity: 1 }));
  const { server, open } = await listen(t, { store: createMemoryOrderStore(orders) });
  // The response to HEAD contains the length of the list, so this response arrives only after the
  // list is serialised.
  const printing = await open();
  printing.write(`${HEAD.replace('GET', 'HEAD')}\r\n`);
  await once(printing, 'data');
  const socket = await open();
  socket.write(KEYED);
  const [head] = await once(socket, 'data');
  socket.pause();
  let received = head.length;
  const drained = server.drain();
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(socket.readableEnded, false);
  socket.on('data', (chunk) => {
    received += chunk.length;
  });
  socket.resume();
  await once(socket, 'end');
  const length = Number(/Content-Length: (\d+)/.exec(head.toString('latin1'))?.[1]);
  const headLength = head.indexOf('\r\n\r\n') + 4;
  assert.ok(length > 10_000_000);
  assert.equal(received - headLength, length);
  await drained;
});

test('while the server drains, a connection with an incomplete request is closed after a grace period', async (t) => {
  const { server, open } = await listen(t);
  const stuck = await open();
  stuck.on('error', () => {});
  stuck.write(HEAD);
  await sleep(50);
  await server.drain(100);
  await once(stuck, 'close');
});

test('/readyz responds with 503 while the server drains', async (t) => {
  const { server, open } = await listen(t);
  const socket = await open();
  socket.write('GET /readyz HTTP/1.1\r\n');
  await sleep(50);
  const drained = server.drain();
  socket.write('Host: x\r\n\r\n');
  assert.match(await text(socket), /^HTTP\/1\.1 503 /);
  await drained;
});

/** Collects the process warnings during a test. */
function collectWarnings(t: TestContext): string[] {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(String(warning));
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  return warnings;
}

test('a failure of the limiter causes one warning, whether orders or documents are asked for', async (t) => {
  const warnings = collectWarnings(t);
  const { origin } = await listen(t, {
    limiter: { take: () => Promise.reject(new Error('down')) },
    corsOrigins: ['*'],
  });
  for (const path of ['/v1/store/orders', '/docs', '/openapi.json'])
    assert.equal((await fetch(origin + path)).status, 503);
  assert.deepEqual([warnings.length, /: limiter.take failed: Error: down/.test(warnings[0] ?? '')], [1, true]);
});

test('a server that trusts no proxy warns once about X-Forwarded-For; a server that trusts a proxy never warns', async (t) => {
  const warnings = collectWarnings(t);
  const headers = { 'X-Forwarded-For': '198.51.100.7' };
  for (const trustProxy of [1, 0, 0]) {
    const { origin: url } = await listen(t, { trustProxy });
    for (let i = 0; i < 2; i++) await (await fetch(`${url}/v1/store/orders`, { headers })).text();
    await (await fetch(`${url}/v1/store/orders`)).text();
    assert.equal(warnings.length, 1 - trustProxy, `trustProxy: ${trustProxy}`);
    if (trustProxy === 0)
      assert.match(warnings.splice(0).join(), /^StoreOrdersWarning: .*X-Forwarded-For.*--trust-proxy N/);
  }
});
