import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type Duplex, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { OrderService } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { fakeStore } from '../../support/fake-store.js';
import { createDeferred, until } from '../../support/until.js';
import { settled } from '../list/support/asker.js';
import { createEndless, PAGE } from '../support/endless.js';
import { AUTHORIZATION, get, lines } from '../support/messages.js';
import { open } from '../support/raw-socket.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { certificate } from './support/certificate.js';
import { SERVERS, serve } from './support/servers.js';

const PATIENCE_MS = 120_000;
const GET = get();

/** What a client takes in two minutes at 20 kB/s. */
const TAKEN_BYTES = 2_400_000;

/** A client that has asked for lists, and reads only what the test reads. */
interface Reader {
  readonly response: Duplex;
  /** Sends something that is no request, as a line break. */
  readonly stir: () => void;
  readonly hangUp: () => void;
}

type Start = (t: TestContext, service: OrderService, requests?: number) => Promise<Reader>;

function overSocket(socket: Duplex, requests = 1): Reader {
  socket.on('error', () => {}).pause();
  socket.write(GET.repeat(requests));
  return { response: socket, stir: () => socket.write('\r\n'), hangUp: () => socket.destroy() };
}

const HOSTS: Readonly<Record<string, Start>> = {
  'node:http': async (t, service, requests) =>
    overSocket(open(await serve(t, createServer(nodeHandler(service)))), requests),
  'node:https': async (t, service, requests) => {
    const port = await serve(t, createHttpsServer(certificate, nodeHandler(service)));
    return overSocket(connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }), requests);
  },
  'node:http2': async (t, service) => {
    const session = connect(`http://127.0.0.1:${await serve(t, createHttp2Server(nodeHandler(service)))}`);
    session.on('error', () => {});
    const response = session.request({ ':path': ORDERS, authorization: KEY[1] }).pause();
    response.on('error', () => {});
    return { response, stir: () => session.ping(() => {}), hangUp: () => session.destroy() };
  },
};

/** Takes the timers of two minutes out of the process, so that the test can end that time. */
function takeTimers(t: TestContext): Map<unknown, () => void> {
  const running = new Map<unknown, () => void>();
  const { setTimeout, clearTimeout } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => {
    const timer = setTimeout(run, ms);
    if (ms === PATIENCE_MS) running.set(timer, run);
    return timer;
  });
  t.mock.method(globalThis, 'clearTimeout', (timer: NodeJS.Timeout) => {
    running.delete(timer);
    clearTimeout(timer);
  });
  return running;
}

const LONG_PAGE = Buffer.from(`{"id":1,"shipDate":"${'x'.repeat(16_000_000)}"}`);

/** Waits until a timer runs that stays the same while the client reads nothing. */
async function stalledTimer(timers: ReadonlyMap<unknown, () => void>): Promise<unknown> {
  for (;;) {
    await until(() => timers.size === 1);
    const [timer] = timers.keys();
    await new Promise((resolve) => setTimeout(resolve, 100));
    // On a busy machine, a timer can fire before the event loop has noticed what the client took.
    await settled();
    if (timers.has(timer)) return timer;
  }
}

for (const [name, start] of Object.entries(HOSTS)) {
  test(`${name}: a response of which nothing is taken for 120 s is cut off, whatever its client sends, and its list ends`, async (t) => {
    const timers = takeTimers(t);
    const { service, counts } = createEndless(PAGE);
    const { response, stir, hangUp } = await start(t, service);
    const timer = await stalledTimer(timers);
    for (let times = 0; times < 6; times++) {
      stir();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.deepEqual([...timers.keys()], [timer]);
    timers.get(timer)?.();
    await until(() => counts.ended === 1);
    await service.close();
    assert.equal(timers.size, 0);
    if (name === 'node:http2') await assert.rejects(text(response), { code: 'ERR_HTTP2_STREAM_ERROR' });
    if (!response.destroyed) hangUp();
  });

  for (const [size, page] of [
    ['small', PAGE],
    ['long', LONG_PAGE],
  ] as const) {
    test(`${name}: a response of ${size} pages of which 2.4 MB are taken in each 120 s is not cut off`, async (t) => {
      const timers = takeTimers(t);
      const { service, counts } = createEndless(page);
      const { response, hangUp } = await start(t, service);
      for (let minutes = 0; minutes < 20; minutes += 2) {
        const timer = await stalledTimer(timers);
        for (let bytes = 0; bytes < TAKEN_BYTES; ) {
          const piece: Buffer | null = response.read();
          if (piece === null) await once(response, 'readable');
          else bytes += piece.length;
        }
        await until(() => !timers.has(timer));
      }
      hangUp();
      await until(() => counts.ended === 1);
      assert.equal(timers.size, 0);
    });
  }
}

for (const name of ['node:http', 'node:https']) {
  test(`${name}: a list in one piece of which nothing is taken for 120 s is cut off`, async (t) => {
    const timers = takeTimers(t);
    const orders = Object.assign([{ id: 1n, shipDate: 'x'.repeat(900_000) }], { version: 1 });
    const { service } = createShop({ store: fakeStore({ list: () => orders }) });
    const { response, hangUp } = (await HOSTS[name]?.(t, service, 16)) ?? assert.fail();
    const timer = await stalledTimer(timers);
    const ended = once(response, 'end');
    timers.get(timer)?.();
    response.resume();
    await ended;
    assert.equal(timers.size, 0);
    hangUp();
  });
}

/** Creates a service whose list is one piece, and counts the clients that are being sent it. */
function createPieceShop(ready: Promise<void>) {
  const onlyPiece = Buffer.alloc(900_000, ' ');
  const { promise: cut, resolve: cutOff } = createDeferred<unknown>();
  const counts = { open: 0 };
  async function* take() {
    counts.open++;
    try {
      yield onlyPiece;
    } finally {
      counts.open--;
    }
  }
  const body = { length: onlyPiece.length, onlyPiece, cut, [Symbol.asyncIterator]: take };
  const headers = ['Content-Length', `${body.length}`];
  const reply = { status: 200, headers, body, chargedTo: 'key', keyId: 'ann', isAddressOverLimit: false } as const;
  const respond = () => ready.then(() => reply);
  return { service: { ...createShop().service, respond }, counts, cutOff };
}

for (const name of ['nodeHandler', 'koaMiddleware', 'fastifyPlugin'] as const) {
  for (const ending of ['its client has taken it', 'it is cut off']) {
    test(`${name}: a list in one piece counts as being sent until ${ending}`, async (t) => {
      const { service, counts, cutOff } = createPieceShop(Promise.resolve());
      const { response } = overSocket(open(await serve(t, await SERVERS[name](service))), 16);
      await until(() => counts.open > 0);
      if (ending === 'it is cut off') cutOff({ bytes: 0, error: new Error('cut off') });
      else response.resume();
      await until(() => counts.open === 0);
    });
  }

  test(`${name}: lists in one piece do not count after their client has hung up`, async (t) => {
    const { promise: ready, resolve: setReady } = createDeferred();
    const { service, counts } = createPieceShop(ready);
    const server = await SERVERS[name](service);
    const closed: boolean[] = [];
    server.on('request', (_request, response) => {
      const index = closed.push(false) - 1;
      response.once('close', () => closed.splice(index, 1, true));
    });
    const { hangUp } = overSocket(open(await serve(t, server)), 3);
    await until(() => closed.length === 3);
    hangUp();
    await until(() => closed.every(Boolean));
    setReady();
    await settled();
    assert.equal(counts.open, 0);
  });
}

for (const name of ['nodeHandler', 'koaMiddleware', 'fastifyPlugin'] as const) {
  test(`${name}: if a stream fails midway over HTTP/1.0, which has no chunks, its connection is reset`, async (t) => {
    const { promise: failure, resolve: fail } = createDeferred();
    async function* list() {
      yield '{"id":1}';
      await failure;
      throw new Error('the cursor is gone');
    }
    const server = await SERVERS[name](createShop({ store: fakeStore({ list }) }).service);
    const socket = open(await serve(t, server), lines(`GET ${ORDERS} HTTP/1.0`, AUTHORIZATION));
    await once(socket, 'data');
    fail();
    await assert.rejects(once(socket.resume(), 'end'), { code: 'ECONNRESET' });
  });
}

test('a response that is sent at once needs no timer', async (t) => {
  const timers = takeTimers(t);
  const set = t.mock.method(timers, 'set');
  const port = await serve(t, createServer(nodeHandler(createShop().service)));
  for (const path of [ORDERS, `${ORDERS}/1`]) {
    await (await fetch(`http://127.0.0.1:${port}${path}`, { headers: [KEY] })).text();
  }
  assert.equal(set.mock.callCount(), 0);
});

test('a long list listens for drain at most twice, because the middleware compression cannot remove a listener', async (t) => {
  const list = () => Readable.from(Array.from({ length: 30 }, (_, id) => `{"id":${id}}`.padEnd(200_000)));
  const handle = nodeHandler(createShop({ store: fakeStore({ list }) }).service);
  const events: unknown[] = [];
  const server = createServer((request, response) => {
    const { mock } = t.mock.method(response, 'on');
    response.once('close', () => events.push(...mock.calls.map(({ arguments: [event] }) => event)));
    return handle(request, response);
  });
  const response = await fetch(`http://127.0.0.1:${await serve(t, server)}${ORDERS}`, { headers: [KEY] });
  assert.equal((await response.text()).length, 30 * 200_001 + 1);
  await until(() => events.length > 0);
  assert.ok(events.filter((event) => event === 'drain').length <= 2, `${events}`);
});
