/**
 * Tests an API client against the real service in the same process, with real quotas but without a
 * socket. Instead of waiting as `Retry-After` asks, the client moves the clock.
 *
 *     node --import tsx --test examples/in-process.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestService, type TestService } from 'store-orders/testing';

function createClient({ url, fetch, apiKey, clock }: TestService) {
  return async function ask(method: string, path: string): Promise<Response> {
    for (;;) {
      const response = await fetch(`${url}${path}`, { method, headers: { Authorization: `Bearer ${apiKey}` } });
      if (response.status !== 429) return response;
      clock.advance(Number(response.headers.get('Retry-After')) * 1_000);
    }
  };
}

test('the client cancels a pending order, and gets a 409 for an order that was shipped', async () => {
  const service = createTestService({ orders: [{ id: 41 }, { id: 42, status: 'shipped' }] });
  const ask = createClient(service);
  assert.equal((await ask('DELETE', '/store/orders/41')).status, 204);
  assert.equal(service.store.get(41n)?.status, 'cancelled');
  const refused = await ask('DELETE', '/store/orders/42');
  assert.equal(refused.status, 409);
  assert.match(await refused.text(), /"code":"order_already_shipped"/);
});

test('the client waits when the quota of the minute is used up, so 61 requests take one minute', async () => {
  const service = createTestService();
  const ask = createClient(service);
  const startMs = service.clock.nowMs();
  for (let i = 0; i < 61; i++) assert.equal((await ask('GET', '/store/orders')).status, 200);
  assert.equal(service.clock.nowMs() - startMs, 60_000);
});

test('the client waits after a 429 and during a ban, and then gets a 200', async () => {
  const service = createTestService();
  const { apiKey, clock } = service;
  const ask = createClient(service);
  service.exhaust(apiKey);
  assert.equal(service.quota(apiKey).inForce.remaining, 0);
  assert.equal((await ask('GET', '/store/orders')).status, 200);

  service.ban(apiKey, 90_000);
  const startMs = clock.nowMs();
  assert.equal((await ask('GET', '/store/orders')).status, 200);
  assert.equal(clock.nowMs() - startMs, 90_000);
});
