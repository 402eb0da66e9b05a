import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createMemoryOrderStore, PLANS } from 'store-orders';
import { assertError, rateLimitOf } from '../http/support/answer.js';
import { exchange, open, readAll, readText } from '../http/support/raw-socket.js';
import { fakeStore } from '../support/fake-store.js';
import { createDeferred, until } from '../support/until.js';
import { KEYED } from './support/client.js';
import { listen } from './support/order-server.js';
import { holdTimers } from './support/timers.js';

/** A request head without its last line. */
const HEAD = KEYED.slice(0, -2);
const CLOSING = `${HEAD}Connection: close\r\n\r\n`;

test('health checks need no key: /healthz reports that the server runs, /readyz whether its backends work', async (t) => {
  let state: 'ok' | 'degraded' | 'unavailable' | Error = 'ok';
  const database = () => (state instanceof Error ? Promise.reject(state) : state);
  const { origin: url } = await listen(t, { backends: { database, quotas: () => 'ok' }, basePath: '' });
  let nowMs = 0;
  // No two probes are within a tenth of a second.
  t.mock.method(performance, 'now', () => (nowMs += 100));
  const answer = async (path: string, method = 'GET') => {
    const response = await fetch(url + path, { method });
    const text = await response.text();
    const fields = ['content-type', 'cache-control', 'retry-after'].map((name) => response.headers.get(name));
    assert.deepEqual(fields, ['application/json', 'no-store', response.status === 503 ? '1' : null]);
    if (method === 'GET') assert.equal(response.headers.get('content-length'), `${text.length}`);
    return [response.status, text];
  };
  assert.deepEqual(await answer('/healthz'), [200, '{"status":"ok"}']);
  for (state of ['ok', 'degraded'] as const) {
    const ready = `{"status":"ok","backends":{"database":"${state}","quotas":"ok"}}`;
    assert.deepEqual(await answer('/readyz'), [200, ready]);
  }
  assert.deepEqual(await answer('/readyz', 'HEAD'), [200, '']);
  for (state of ['unavailable', new Error('secret'), JSON.parse('"broken"')]) {
    const error =
      '{"code":"service_unavailable","message":"The server is not ready. Ask again in a moment.","status":503,' +
      '"backends":{"database":"unavailable","quotas":"ok"}}';
    assert.deepEqual(await answer('/readyz'), [503, error]);
  }
  assert.deepEqual(await answer('/healthz'), [200, '{"status":"ok"}']);
  assert.equal((await answer('/store/orders'))[0], 401);
});

test('a server without connections has no timers, whether it drains or is closed as by node:http', async (t) => {
  const active = new Set<unknown>();
  for (const kind of ['Interval', 'Timeout'] as const) {
    const [start, stop] = [globalThis[`set${kind}`], globalThis[`clear${kind}`]];
    t.mock.method(globalThis, `set${kind}`, (run: () => void, ms: number) => {
      const timer = start(run, ms);
      active.add(timer);
      return timer;
    });
    t.mock.method(globalThis, `clear${kind}`, (timer: NodeJS.Timeout | undefined) => {
      active.delete(timer);
      stop(timer);
    });
  }
  for (const end of ['close', 'drain'] as const) {
    const { server, port } = await listen(t);
    assert.equal(active.size, 0);
    await readText(open(port, CLOSING));
    await new Promise<void>((resolve) =>
      end === 'drain' ? server.drain(60_000).then(resolve) : server.close(() => resolve()),
    );
    assert.equal(active.size, 0, end);
  }
});

test('a request with Expect: 100-continue gets its final response at once', async (t) => {
  const { port } = await listen(t);
  const { answers } = await exchange(port, `${HEAD}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
  assert.deepEqual([answers.length, answers[0]?.status], [1, 200]);
});

test('a client that sends no complete request head within 10 s gets a 408 with an Error object', async (t) => {
  const times = ['headersTimeout', 'requestTimeout', 'connectionsCheckingInterval'] as const;
  const { port } = await listen(t, {}, (server) => {
    const configured = times.map((name) => Reflect.get(server, name));
    assert.deepEqual(configured, [10_000, 30_000, 2_000]);
    // The test takes a twentieth of the time with these shorter time-outs.
    for (const name of times) Reflect.set(server, name, Reflect.get(server, name) / 20);
  });
  const served = open(port, KEYED);
  await once(served, 'data');
  const slow = await Promise.all(['', 'GET /v1', HEAD].map((sent) => exchange(port, sent)));
  for (const [index, { answers }] of slow.entries()) {
    const [answer = assert.fail(), ...others] = answers;
    assertError(answer, 'request_timeout');
    assert.deepEqual([others.length, answer.fields.get('connection')], [0, 'close']);
    assert.equal(rateLimitOf(answer).remaining, 599 - index);
  }
  // A connection that has already got a response is allowed to be idle for longer.
  served.write(KEYED);
  assert.match(String((await once(served, 'data'))[0]), /^HTTP\/1\.1 200 /);
  served.destroy();
});

test('a draining server serves requests that have partly arrived or arrive soon, even if it was busy then, closes connections without one, and is not ready', async (t) => {
  let lookUp: Promise<void> | undefined;
  const authenticate = () => Promise.resolve(lookUp).then(() => ({ id: 'us', plan: PLANS.business }));
  const { server, port, origin } = await listen(t, { authenticate });
  async function connected(sent = '') {
    const socket = open(port, sent);
    await once(socket, sent === KEYED ? 'data' : 'connect');
    return socket;
  }
  const unused = [await connected(), await connected(KEYED)].map(readText);
  const [fresh, idle, begun] = [await connected(), await connected(KEYED), await connected(HEAD)];
  const probe = await connected('GET /readyz HTTP/1.1\r\nHost: x\r\n');
  await fetch(`${origin}/healthz`);

  const texts = [fresh, idle, begun, probe].map(readText);
  const { promise, resolve } = createDeferred<void>();
  lookUp = promise;
  const endLinger = holdTimers(t, 500);
  const drained = server.drain();
  await nextTurn();
  // These requests arrive before the timers of the server run, and are read only after them.
  for (const socket of [fresh, idle]) socket.write(KEYED);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  assert.notEqual(endLinger(), 0);
  assert.deepEqual(await Promise.all(unused), ['', '']);
  resolve();
  for (const socket of [begun, probe]) socket.write('\r\n');
  for (const [index, text] of (await Promise.all(texts)).entries()) {
    const status = index === 3 ? 503 : 200;
    assert.match(text, new RegExp(`^HTTP/1.1 ${status} (?:.*\r\n)*Connection: close\r\n`));
  }
  await drained;
  await assert.rejects(fetch(`${origin}/healthz`));
});

test('a draining server sends all of a long response, however slowly the client reads it', async (t) => {
  const orders = Array.from({ length: 300_000 }, (_, id) => ({ id, petId: 123_456_789, quantity: 1 }));
  const { server, port } = await listen(t, { store: createMemoryOrderStore(orders) });
  const { text: list } = (await exchange(port, CLOSING)).answers[0] ?? assert.fail();
  assert.ok(list.length > 10_000_000);
  const requested = once(server, 'request');
  const socket = open(port, KEYED).pause();
  const [, response] = await requested;
  await until(() => response.headersSent);
  const drained = server.drain();
  await sleep(700);
  const received = readAll(socket);
  socket.resume();
  assert.ok((await received).answers[0]?.text === list);
  await drained;
});

test('a draining server waits for what its requests have begun, even if their clients have hung up', async (t) => {
  const lookUp = createDeferred<undefined>();
  const { server, port } = await listen(t, { authenticate: () => lookUp.promise });
  const socket = open(port, KEYED);
  await once(server, 'request');
  socket.resetAndDestroy();
  const events: string[] = [];
  const drained = server.drain(60_000).then(() => events.push('drained'));
  await once(server, 'close');
  await sleep(20);
  lookUp.resolve(void events.push('looked up'));
  await drained;
  assert.deepEqual(events, ['looked up', 'drained']);
});

test('after a grace period, a draining server closes connections without a complete request or a reply, and waits for no store that never settles', async (t) => {
  const never = new Promise<never>(() => {});
  const pages = { [Symbol.asyncIterator]: () => ({ next: () => never }) };
  for (const list of [() => never, () => pages]) {
    const { server, port } = await listen(t, { store: fakeStore({ list }) });
    const stuck = [HEAD, KEYED].map((sent) => readText(open(port, sent)));
    await once(server, 'request');
    await server.drain(100);
    assert.deepEqual(await Promise.all(stuck), ['', '']);
  }
});

test('a server that trusts no proxy warns once about X-Forwarded-For; a server that trusts a proxy never warns', async (t) => {
  const { mock } = t.mock.method(process, 'emitWarning', () => {});
  const headers = { 'X-Forwarded-For': '198.51.100.7' };
  for (const trustProxy of [1, 0, undefined]) {
    const { origin } = await listen(t, { trustProxy });
    for (const init of [{ headers }, { headers }, {}]) await fetch(`${origin}/v1/store/orders`, init);
    const warnings = mock.calls.map(({ arguments: [warning] }) => String(warning));
    mock.resetCalls();
    assert.equal(warnings.length, trustProxy === 1 ? 0 : 1, `trustProxy: ${trustProxy}`);
    for (const warning of warnings) {
      assert.match(
        warning,
        /^A request has the field X-F.*: set trustProxy \(--trust-proxy N\) to the number of proxies\.$/,
      );
    }
  }
});
