import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedOrders, Order, OrderStore } from 'store-orders';
import { assertError } from '../support/answer.js';
import { createShop, KEY, ORDERS } from '../support/shop.js';
import { WAYS } from '../support/ways.js';

const BATCHES: readonly Order[][] = [[{ id: 1n }, { id: 2n }], [], [{ id: 3n }]];
const PRINTED = '[{"id":1},{"id":2},{"id":3}]';

/**
 * Creates a store whose list is a frozen iterable. The iterable waits for a call of `open` before
 * it yields its first batch.
 */
function createGatedStore(batches: readonly (readonly Order[] | Error)[]) {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let readings = 0;
  const createList = (): ListedOrders =>
    Object.freeze({
      async *[Symbol.asyncIterator]() {
        readings++;
        await gate;
        for (const batch of batches) {
          if (batch instanceof Error) throw batch;
          yield batch;
        }
      },
    });
  let listed = createList();
  const store: OrderStore = { list: () => listed, cancel: () => 'not_found' };
  const change = () => {
    listed = createList();
  };
  return { store, open, change, readings: () => readings };
}

for (const way of WAYS) {
  test(`a frozen iterable is read only once for all requests, and later responses have a Content-Length (${way.name})`, async () => {
    const { store, open, change, readings } = createGatedStore(BATCHES);
    const { ask, close } = await way.open(createShop({ store }).service);
    const early = [ask('GET', ORDERS, [KEY]), ask('GET', ORDERS, [KEY])];
    open();
    for (const { status, text } of await Promise.all(early)) assert.deepEqual([status, text], [200, PRINTED]);
    const late = await ask('GET', ORDERS, [KEY]);
    assert.deepEqual([late.text, late.fields.get('content-length')], [PRINTED, `${PRINTED.length}`]);
    const head = await ask('HEAD', ORDERS, [KEY]);
    assert.deepEqual([head.text, head.fields.get('content-length')], ['', `${PRINTED.length}`]);
    assert.equal(readings(), 1);
    change();
    assert.equal((await ask('GET', ORDERS, [KEY])).text, PRINTED);
    assert.equal(readings(), 2);
    await close();
  });

  test(`if a frozen iterable fails before its first batch, the response is a 503, and the next request reads the iterable again (${way.name})`, async () => {
    const { store, open, readings } = createGatedStore([new Error('the file is gone')]);
    const { ask, close } = await way.open(createShop({ store }).service);
    open();
    assertError(await ask('GET', ORDERS, [KEY]), 'service_unavailable');
    assertError(await ask('GET', ORDERS, [KEY]), 'service_unavailable');
    assert.equal(readings(), 2);
    await close();
  });

  test(`if a frozen iterable fails after its first batch, the response is aborted, and the next request reads the iterable again (${way.name})`, async () => {
    const { store, open, readings } = createGatedStore([[{ id: 1n }], new Error('the file is gone')]);
    const { ask, close } = await way.open(createShop({ store }).service);
    open();
    await assert.rejects(ask('GET', ORDERS, [KEY]));
    await assert.rejects(ask('GET', ORDERS, [KEY]));
    assert.equal(readings(), 2);
    await close();
  });
}

test('if a frozen iterable fails before its first batch, requests that must wait for the whole list get a 503, and no rejection stays unhandled', async (t) => {
  const unheard = t.mock.fn();
  process.on('unhandledRejection', unheard);
  t.after(() => process.off('unhandledRejection', unheard));
  const { store, open } = createGatedStore([new Error('the file is gone')]);
  const { service } = createShop({ store });
  open();
  for (const [method, ...fields] of [
    ['HEAD'],
    ['GET', 'If-None-Match', '"x"'],
    ['GET', 'Accept-Encoding', 'gzip'],
    ['GET', 'Accept-Encoding', 'br'],
  ]) {
    assert.equal((await service.respond({ method, url: ORDERS, rawHeaders: [...KEY, ...fields] })).status, 503);
    await new Promise(setImmediate);
  }
  assert.equal(unheard.mock.callCount(), 0);
});

test('close() waits for a list that is being serialised, even if no client reads the list', async () => {
  const { store, open } = createGatedStore(BATCHES);
  const { service } = createShop({ store });
  const reply = service.respond({ method: 'HEAD', url: ORDERS, rawHeaders: KEY });
  let isClosed = false;
  const closed = service.close().then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  assert.equal(isClosed, false);
  open();
  assert.equal((await reply).status, 200);
  await closed;
});
