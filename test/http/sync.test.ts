import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestHead } from 'store-orders';
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
