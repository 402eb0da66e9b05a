import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { type TestContext, test } from 'node:test';
import { brotliDecompressSync, createBrotliCompress } from 'node:zlib';
import type { ListedOrders } from 'store-orders';
import { createShop, KEY, ORDERS } from '../support/shop.js';

const BATCHES = 150;
/** Enough of them for some pieces of what is compressed. */
const BEFORE_GATE = 50;

/** What compresses badly, so that there are many pieces. */
const batches = Array.from({ length: BATCHES }, (_, index) =>
  Array.from({ length: 500 }, (_, i) => `{"id":${500 * index + i},"petId":${randomBytes(6).readUIntBE(0, 6)}}`).join(),
);

/** A service that lists the batches, the later ones when the gate is opened, and nothing after the change. */
function createGatedService() {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let listed: ListedOrders = Object.freeze({
    async *[Symbol.asyncIterator]() {
      for (const [index, batch] of batches.entries()) {
        if (index === BEFORE_GATE) await gate;
        await new Promise(setImmediate);
        yield batch;
      }
    },
  });
  const { service } = createShop({ store: { list: () => listed, cancel: () => 'not_found' } });
  const ask = async (...fields: readonly string[]) =>
    service.respond({ method: 'GET', url: ORDERS, rawHeaders: [...KEY, ...fields] });
  const change = () => {
    listed = Object.freeze([]);
  };
  return { service, ask, open, change };
}

async function bytesOf(body: Awaited<ReturnType<ReturnType<typeof createGatedService>['ask']>>['body']) {
  assert.ok(typeof body === 'object');
  if (body instanceof Uint8Array) return body;
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Begins a compressed list, reads so many pieces of it and hangs up. */
async function hangUpAfter(pieces: number, ask: ReturnType<typeof createGatedService>['ask']) {
  const { body } = await ask('Accept-Encoding', 'br');
  assert.ok(typeof body === 'object' && Symbol.asyncIterator in body);
  const iterator = body[Symbol.asyncIterator]();
  for (let i = 0; i < pieces; i++) await iterator.next();
  await iterator.return?.();
  await iterator.return?.();
}

function errorsOf(t: TestContext): readonly unknown[] {
  const errors: unknown[] = [];
  const note = (message: unknown) => {
    if (message instanceof Object && 'error' in message) errors.push(message.error);
  };
  channel('store-orders:reply').subscribe(note);
  t.after(() => channel('store-orders:reply').unsubscribe(note));
  return errors;
}

test('a list that was not compressed to its end is sent to nobody, and is no failure', async (t) => {
  const errors = errorsOf(t);
  const { service, ask, open, change } = createGatedService();
  await hangUpAfter(1, ask);
  // Waits until the list is whole, which is later than nobody wants it compressed any more.
  const waiting = ask('Accept-Encoding', 'br', 'If-None-Match', '"of a former list"');
  change();
  await ask();
  open();
  const { status, body } = await waiting;
  assert.equal(status, 200);
  assert.equal(brotliDecompressSync(await bytesOf(body)).toString(), `[${batches}]`);
  await service.close();
  assert.deepEqual(errors, []);
});

for (const pieces of [0, 1]) {
  test(`a list that changed is compressed no further when its reader hangs up after ${pieces} pieces`, async (t) => {
    const compressor = Object.getPrototypeOf(createBrotliCompress());
    const { mock } = t.mock.method(compressor, '_transform');
    const { service, ask, open, change } = createGatedService();
    await hangUpAfter(pieces, ask);
    change();
    await ask();
    open();
    await service.close();
    assert.ok(mock.callCount() > 0 && mock.callCount() < BATCHES, `${mock.callCount()} batches`);
  });
}
