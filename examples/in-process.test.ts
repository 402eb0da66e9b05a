/**
 * Tests of an API client against the real service, in-process: no socket, no waiting, real quotas. The client under
 * test here waits as `Retry-After` says; its `sleep` moves the clock instead.
 *
 *     node --import tsx --test examples/in-process.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createMemoryOrderStore, createOrderService, PLANS } from 'store-orders';
import { fetchHandler } from 'store-orders/fetch';
import { createManualClock } from 'store-orders/testing';

type Fetch = (request: Request) => Promise<Response>;

/** The client under test. */
async function patientFetch(fetch: Fetch, request: Request, sleep: (ms: number) => void): Promise<Response> {
  for (;;) {
    const response = await fetch(request.clone());
    if (response.status !== 429) return response;
    sleep(Number(response.headers.get('Retry-After')) * 1000);
  }
}

function startService() {
  const clock = createManualClock();
  const store = createMemoryOrderStore([{ id: 41 }, { id: 42, status: 'shipped' }]);
  const limiter = createMemoryLimiter({ clock });
  const authenticate = (apiKey: string) => (apiKey === 'test-key' ? { id: 'test', plan: PLANS.free } : undefined);
  const fetch = fetchHandler(createOrderService({ store, limiter, authenticate }));
  return { clock, store, limiter, fetch };
}

function request(method: string, path: string): Request {
  return new Request(`http://store.test/v1/store/orders${path}`, {
    method,
    headers: { Authorization: 'Bearer test-key' },
  });
}

test('the client cancels a pending order, and hears that another has shipped', async () => {
  const { fetch, store } = startService();
  assert.equal((await fetch(request('DELETE', '/41'))).status, 204);
  assert.equal(store.get(41n)?.status, 'cancelled');
  const refused = await fetch(request('DELETE', '/42'));
  assert.equal(refused.status, 409);
  assert.match(await refused.text(), /"code":"order_already_shipped"/);
});

test('the client waits out the minute, and 61 requests take one minute of the clock', async () => {
  const { clock, fetch } = startService();
  const startMs = clock.nowMs();
  for (let i = 0; i < 61; i++) {
    const response = await patientFetch(fetch, request('GET', ''), (ms) => clock.advance(ms));
    assert.equal(response.status, 200);
  }
  assert.equal(clock.nowMs() - startMs, 60_000);
});

test('the client survives a ban', async () => {
  const { clock, limiter, fetch } = startService();
  limiter.ban('test', 90_000);
  const startMs = clock.nowMs();
  const response = await patientFetch(fetch, request('GET', ''), (ms) => clock.advance(ms));
  assert.deepEqual([response.status, clock.nowMs() - startMs], [200, 90_000]);
});
