import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { type ListedOrders, type Order, PLANS, type ReplyMessage } from 'store-orders';
import { nodeHandler } from 'store-orders/handler';
import { createReadings } from '../../../dist/http/list/readings.js';
import { fakeStore } from '../../support/fake-store.js';
import { collectGarbage, MIB, mebibytes } from '../../support/memory.js';
import { until } from '../../support/until.js';
import { SERVERS, serve } from '../mounts/support/servers.js';
import { get } from '../support/messages.js';
import { open } from '../support/raw-socket.js';
import { bearer, createShop, KEY, ORDERS } from '../support/shop.js';

/** Creates a list of pieces. Nothing is written to them, so they take no memory. */
function listOf(pieces: readonly Uint8Array[]) {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return {
    length,
    pieces,
    async *[Symbol.asyncIterator]() {
      yield* pieces;
    },
  };
}

const piece = (mebibytes = 8) => Buffer.alloc(mebibytes * MIB);

/** Creates a register, and a function that begins to take a list. Returns whether it was cut off. */
function createRegister(current: readonly Uint8Array[] = []) {
  const { take } = createReadings(() => current);
  const begin = async (key: string, ...pieces: readonly Uint8Array[]) => {
    const body = take(key, listOf(pieces));
    const reading = { isCut: false, iterator: body[Symbol.asyncIterator]() };
    body.cut.then(() => {
      reading.isCut = true;
    });
    await reading.iterator.next();
    return reading;
  };
  return { take, begin };
}

test('beyond 64 MB of earlier lists, the oldest reading of the key that holds most ends with an error', async () => {
  const { begin } = createRegister();
  const bob = await begin('bob', piece());
  const ann: Awaited<ReturnType<typeof begin>>[] = [];
  for (let version = 0; version < 10; version++) ann.push(await begin('ann', piece()));
  assert.deepEqual(
    [bob, ...ann].map(({ isCut }) => isCut),
    [false, true, true, true, ...Array(7).fill(false)],
  );
  await assert.rejects(async () => ann[0]?.iterator.next(), /^Error: The list was cut off after 8388608 bytes/);
  assert.equal((await bob.iterator.next()).done, true);
});

test('lists of more than 32 MB may be kept twice', async () => {
  const { begin } = createRegister();
  const readings = [];
  for (let version = 0; version < 4; version++) readings.push(await begin('ann', piece(40), piece(40)));
  assert.deepEqual(
    readings.map(({ isCut }) => isCut),
    [true, true, false, false],
  );
});

test('the most recent list, and pieces that lists share, count once, so nobody who takes them is cut off', async () => {
  const current = [piece(), piece()];
  const shared = Array.from({ length: 6 }, () => piece());
  const { begin } = createRegister(current);
  const readings = [];
  for (let reader = 0; reader < 30; reader++) {
    readings.push(await begin('ann', ...current), await begin('ann', ...shared, Buffer.alloc(1)));
  }
  assert.equal(readings.filter(({ isCut }) => isCut).length, 0);
});

test('keys that hold one list each are cut off only at four times the bound', async () => {
  const { begin } = createRegister();
  const readings = [];
  for (let key = 0; key < 34; key++) readings.push(await begin(`${key}`, piece()));
  assert.deepEqual(
    readings.map(({ isCut }) => isCut),
    [true, true, ...Array(32).fill(false)],
  );
});

test('lists that have ended, that nobody has begun to take, or that were returned unread are not counted', async () => {
  const { begin, take } = createRegister();
  for (let version = 0; version < 20; version++) {
    const { isCut, iterator } = await begin('ann', piece());
    if (version % 2 === 0) await iterator.next();
    else await iterator.return?.();
    assert.equal(isCut, false);
    take('ann', listOf([piece()]));
    await take('ann', listOf([piece()]))
      [Symbol.asyncIterator]()
      .return?.();
  }
  const { isCut } = await begin('ann', piece());
  assert.equal(isCut, false);
});

/** Creates a service whose list changes for each request. */
function createGrowingShop(listOf: (version: number) => ListedOrders, messages: ReplyMessage[] = []) {
  let version = 0;
  const { service } = createShop({
    store: fakeStore({ list: () => listOf(++version) }),
    authenticate: (apiKey) => ({ id: apiKey, plan: PLANS.business }),
    onReply: (message) => messages.push(message),
  });
  return service;
}

const versionedPages = (version: number, pages: readonly string[]) => ({
  version,
  async *[Symbol.asyncIterator]() {
    yield* pages;
  },
});

async function askForList(service: ReturnType<typeof createGrowingShop>, coding = 'identity') {
  const rawHeaders = [...bearer('ann-has-a-key'), 'Accept-Encoding', coding];
  const { body } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders });
  return typeof body === 'object' && Symbol.asyncIterator in body ? body : assert.fail();
}

/** Begins to take a list. */
async function beginList(service: ReturnType<typeof createGrowingShop>) {
  const iterator = (await askForList(service))[Symbol.asyncIterator]();
  await iterator.next();
  return iterator;
}

const PAGES = Array.from({ length: 8 }, (_, index) => `{"id":${index}}`.padEnd(MIB));
const ROWS: readonly Order[] = Array.from({ length: 2_048 }, (_, id) => ({
  id: BigInt(id),
  shipDate: 'x'.repeat(2_048),
}));
/** With its separator, the eighth part of the least size of a piece. */
const EIGHTHS = Array.from({ length: 64 }, (_, index) => `{"id":${index}}`.padEnd(65_535));

const KEPT: Readonly<Record<string, (version: number) => ListedOrders>> = {
  'pages to which one is appended': (version) => versionedPages(version, [...PAGES, `{"id":${100 + version}}`]),
  'arrays without a version, which are equal': () => [...ROWS],
  'pages of which an early one grows by a digit': (version) =>
    versionedPages(version, EIGHTHS.with(1, '{"id":1}'.padEnd(65_534 + (version % 2)))),
};

for (const [kind, listOf] of Object.entries(KEPT)) {
  test(`16 lists that one client is sent keep their equal pieces once: ${kind}`, async () => {
    const service = createGrowingShop(listOf);
    collectGarbage();
    const baseBytes = process.memoryUsage().arrayBuffers;
    const held = [];
    for (let request = 0; request < 16; request++) held.push(await beginList(service));
    collectGarbage();
    collectGarbage();
    const bytes = process.memoryUsage().arrayBuffers - baseBytes;
    assert.ok(bytes < 20 * MIB, mebibytes(bytes));
    assert.equal(held.length, 16);
  });
}

test('lists of one piece count too', async () => {
  const messages: ReplyMessage[] = [];
  const pages = (version: number) => EIGHTHS.slice(0, 6).with(0, `{"id":${version}}`.padEnd(65_000));
  const service = createGrowingShop((version) => versionedPages(version, pages(version)), messages);
  for (let version = 0; version < 180; version++) await beginList(service);
  assert.ok(messages.some(({ isCutOff }) => isCutOff));
});

for (const coding of ['gzip', 'br']) {
  test(`a list that is compressed to one piece counts too (${coding})`, async () => {
    const page = `{"id":1,"shipDate":"${randomBytes(150_000).toString('base64')}"}`;
    const service = createGrowingShop((version) => versionedPages(version, [page]));
    const body = await askForList(service, coding);
    assert.ok('cut' in body && 'onlyPiece' in body && body.onlyPiece instanceof Uint8Array);
  });
}

const longPages = (version: number) => versionedPages(version, [`{"id":${version}}`.padEnd(12 * MIB)]);

test('a list that was cut off is published again, with the error, the bytes that were taken, and the same id', async () => {
  const messages: ReplyMessage[] = [];
  const service = createGrowingShop(longPages, messages);
  for (let request = 0; request < 7; request++) await beginList(service);
  await new Promise(setImmediate);
  assert.equal(messages.length, 8);
  const [first, cut] = [messages[0], messages[7]];
  assert.match(String(cut?.error), /cut off after 12582913 bytes/);
  assert.deepEqual(
    [cut?.requestId, cut?.status, cut?.keyId, cut?.bytes, cut?.isCutOff, first?.error, first?.isCutOff],
    [first?.requestId, 200, 'ann-has-a-key', 12 * MIB + 1, true, undefined, undefined],
  );
});

for (const [name, createServer] of Object.entries({
  nodeHandler: SERVERS.nodeHandler,
  koaMiddleware: SERVERS.koaMiddleware,
  fastifyPlugin: SERVERS.fastifyPlugin,
  'nodeHandler over HTTP/2': (service: ReturnType<typeof createGrowingShop>) => createHttp2Server(nodeHandler(service)),
})) {
  test(`a list that is cut off ends with fewer bytes than its length, although its client takes nothing (${name})`, async (t) => {
    const server = await createServer(createGrowingShop(longPages));
    const responses: { readonly destroyed: boolean }[] = [];
    const isHttp2 = name.endsWith('HTTP/2');
    server.on(isHttp2 ? 'stream' : 'connection', (response) => responses.push(response));
    const port = await serve(t, server);
    const ask = () => {
      if (!isHttp2) return open(port, get());
      const session = connectHttp2(`http://127.0.0.1:${port}`);
      t.after(() => session.destroy());
      return session.request({ ':path': ORDERS, authorization: KEY[1] });
    };
    const clients: Duplex[] = [];
    for (let request = 0; request < 7; request++) {
      const client = ask();
      t.after(() => client.destroy());
      client.on('error', () => {});
      await once(client, 'readable');
      clients.push(client);
    }
    await until(() => responses[0]?.destroyed === true);
    assert.deepEqual(
      responses.map(({ destroyed }) => destroyed),
      [true, ...Array(6).fill(false)],
    );
    let bytes = 0;
    clients[0]?.on('data', (part: Buffer) => {
      bytes += part.length;
    });
    await until(() => clients[0]?.readableEnded === true || clients[0]?.closed === true);
    assert.ok(bytes < 12 * MIB, `${bytes}`);
  });
}
