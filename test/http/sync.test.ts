import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply, RequestHead } from 'store-orders';
import { fakeStore } from '../support/fake-store.js';
import { createShop, KEY, ORDERS } from './support/shop.js';

test('if authenticate, the limiter and the store are synchronous, respond() returns every reply without a promise', async () => {
  const { service, limiter } = createShop();
  const rows: [number, RequestHead][] = [
    [200, { method: 'GET', url: ORDERS, rawHeaders: KEY }],
    [200, { method: 'HEAD', url: ORDERS, rawHeaders: KEY }],
    [204, { method: 'DELETE', url: `${ORDERS}/1`, rawHeaders: KEY }],
    [409, { method: 'DELETE', url: `${ORDERS}/1`, rawHeaders: KEY }],
    [404, { method: 'DELETE', url: `${ORDERS}/404`, rawHeaders: KEY }],
    [404, { method: 'DELETE', url: `${ORDERS}/abc`, rawHeaders: KEY }],
    [404, { method: 'GET', url: '/', rawHeaders: KEY }],
    [404, { rawHeaders: KEY }],
    [405, { method: 'POST', url: ORDERS, rawHeaders: KEY }],
    [414, { method: 'GET', url: `${ORDERS}?${'x'.repeat(9_000)}`, rawHeaders: KEY }],
    [400, { method: 'GET', url: ORDERS, rawHeaders: ['Host', '', ...KEY] }],
    [401, { method: 'GET', url: ORDERS, rawHeaders: [] }],
    [401, { method: 'GET', url: ORDERS, rawHeaders: ['Authorization', 'Bearer nobody'] }],
  ];
  const statusOf = (head: RequestHead) => {
    const reply = service.respond(head, '192.0.2.1');
    assert.ok(!(reply instanceof Promise) && !('then' in reply), `${head.method} ${head.url}`);
    return reply.status;
  };
  for (const [status, head] of rows) assert.equal(statusOf(head), status, `${head.method} ${head.url}`);
  limiter.ban('owner', 1_000);
  assert.equal(statusOf({ method: 'GET', url: ORDERS, rawHeaders: KEY }), 429);
  const failing = createShop({
    authenticate: () => {
      throw new Error('the key table is locked');
    },
  });
  const failure = failing.service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY });
  assert.ok(!(failure instanceof Promise));
  assert.equal(failure.status, 503);
  const refusal = service.refuse('bad_request', '192.0.2.1');
  assert.ok(!(refusal instanceof Promise));
  assert.equal(refusal.status, 400);
  await service.close();
  assert.equal(statusOf({ method: 'GET', url: ORDERS, rawHeaders: KEY }), 503);
});

test('an array with a version is serialised only once, but an array without one is serialised for each request', async () => {
  const shop = createShop();
  const bodyOf = async ({ service }: Pick<ReturnType<typeof createShop>, 'service'>) =>
    (await service.respond({ method: 'GET', url: ORDERS, rawHeaders: KEY })).body;
  shop.store.put(Array.from({ length: 100_000 }, (_, i) => ({ id: 1_000 + i, petId: 7 })));
  const first = await bodyOf(shop);
  assert.ok(typeof first === 'object' && Symbol.asyncIterator in first, 'a long list is sent in pieces');
  const pieces = await piecesOf(first);
  const again = await piecesOf(await bodyOf(shop));
  assert.ok(
    pieces.length > 1 && pieces.every((piece, index) => piece === again[index]),
    'the second response has the same pieces as the first',
  );
  shop.store.put([{ id: 7 }]);
  assert.notEqual((await piecesOf(await bodyOf(shop)))[0], pieces[0], 'a changed list is serialised again');

  const orders = [{ id: 1n }];
  const changing = createShop({ store: fakeStore({ list: () => orders }) });
  assert.equal(await bodyOf(changing), '[{"id":1}]');
  orders.push({ id: 2n });
  assert.equal(await bodyOf(changing), '[{"id":1},{"id":2}]');
});

async function piecesOf(body: Reply['body']): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  assert.ok(typeof body === 'object' && Symbol.asyncIterator in body);
  for await (const piece of body) pieces.push(piece);
  return pieces;
}
