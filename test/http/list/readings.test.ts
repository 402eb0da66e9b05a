import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLANS, type ReplyMessage } from 'store-orders';
import { createReadings } from '../../../dist/http/list/readings.js';
import { fakeStore } from '../../support/fake-store.js';
import { collectGarbage, MIB, mebibytes } from '../../support/memory.js';
import { bearer, createShop, ORDERS } from '../support/shop.js';

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

/** Creates a service whose list has new pages for each request, and begins to take it. */
function createGrowingShop(pagesOf: (version: number) => readonly string[], messages: ReplyMessage[] = []) {
  let version = 0;
  const list = () => ({
    version: ++version,
    async *[Symbol.asyncIterator]() {
      yield* pagesOf(version);
    },
  });
  const { service } = createShop({
    store: fakeStore({ list }),
    authenticate: (apiKey) => ({ id: apiKey, plan: PLANS.business }),
    onReply: (message) => messages.push(message),
  });
  return async (fields: readonly string[] = []) => {
    const rawHeaders = [...bearer('ann-has-a-key'), ...fields];
    const { body } = await service.respond({ method: 'GET', url: ORDERS, rawHeaders });
    assert.ok(typeof body === 'object' && Symbol.asyncIterator in body);
    const iterator = body[Symbol.asyncIterator]();
    await iterator.next();
    return iterator;
  };
}

test('versions to which orders were appended keep their equal pieces once, also for an array without a version', async () => {
  const pages = Array.from({ length: 8 }, (_, index) => `{"id":${index}}`.padEnd(MIB));
  const begin = createGrowingShop((version) => [...pages, `{"id":${100 + version}}`]);
  collectGarbage();
  const baseBytes = process.memoryUsage().arrayBuffers;
  const held = [];
  for (let request = 0; request < 16; request++) held.push(await begin());
  collectGarbage();
  collectGarbage();
  const bytes = process.memoryUsage().arrayBuffers - baseBytes;
  assert.ok(bytes < 12 * MIB, mebibytes(bytes));
  assert.equal(held.length, 16);
});

test('a list that was cut off is published again, with the error, the bytes that were taken, and the same id', async () => {
  const messages: ReplyMessage[] = [];
  const begin = createGrowingShop((version) => [`{"id":${version}}`.padEnd(12 * MIB)], messages);
  for (let request = 0; request < 7; request++) await begin();
  await new Promise(setImmediate);
  assert.equal(messages.length, 8);
  const [first, cut] = [messages[0], messages[7]];
  assert.match(String(cut?.error), /cut off after 12582913 bytes/);
  assert.deepEqual(
    [cut?.requestId, cut?.status, cut?.keyId, cut?.bytes, cut?.isCutOff, first?.error, first?.isCutOff],
    [first?.requestId, 200, 'ann-has-a-key', 12 * MIB + 1, true, undefined, undefined],
  );
});
