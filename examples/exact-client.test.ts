/**
 * Tests the client of `exact-client.ts` against the real service. Some requests are refused or
 * lost, and some responses are late, incomplete or lost.
 *
 *     node --import tsx --test examples/exact-client.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestService, type TestServiceOptions } from 'store-orders/testing';
import { createOrdersClient, type OrdersClientOptions, OrdersError } from './exact-client.ts';

const EDGE = 2n ** 53n;
const ORDERS = [
  { id: -(2n ** 63n), petId: 2n ** 63n - 1n, shipDate: '2026-01-01T00:00:00Z', quantity: 2, complete: false },
  { id: EDGE },
  { id: EDGE + 1n },
];

function open(options: Partial<OrdersClientOptions> = {}, serviceOptions: TestServiceOptions = {}) {
  const service = createTestService({ orders: ORDERS, ...serviceOptions });
  const waits: number[] = [];
  const sleep = async (ms: number) => {
    waits.push(ms);
    service.clock.advance(Math.ceil(ms));
  };
  const { url, fetch, apiKey } = service;
  return { ...service, waits, client: createOrdersClient({ url, fetch, apiKey, sleep, ...options }) };
}

test('the client reads every id exactly, and cancels the right order', async () => {
  const { client, store } = open();
  assert.deepEqual(await client.list(), ORDERS);
  assert.equal(await client.cancel(EDGE + 1n), 'cancelled');
  assert.deepEqual([store.get(EDGE)?.status, store.get(EDGE + 1n)?.status], ['pending', 'cancelled']);
});

test('if an order cannot be cancelled, the client returns a reason such as already_shipped', async () => {
  const { client, store } = open();
  store.ship(EDGE);
  assert.equal(await client.cancel(EDGE), 'already_shipped');
  assert.equal(await client.cancel(7n), 'not_found');
  assert.equal(await client.cancel(EDGE + 1n), 'cancelled');
  assert.equal(await client.cancel(EDGE + 1n), 'already_cancelled', 'the order is cancelled for the second time');
});

test('after a 429, the client waits for the time in Retry-After and then repeats the request', async () => {
  const { client, exhaust, ban, apiKey, waits } = open();
  exhaust(apiKey);
  assert.equal((await client.list()).length, 3);
  ban(apiKey, 80_000);
  assert.equal(await client.cancel(EDGE), 'cancelled');
  assert.equal(waits.length, 2);
  assert.ok(Number(waits[0]) >= 60_000 && Number(waits[1]) >= 80_000);
});

test('the client throws an error without waiting if Retry-After is ten hours', async () => {
  const { client, exhaust, ban, apiKey, waits } = open();
  ban(apiKey, 36_000_000);
  exhaust(apiKey);
  const expected = { name: 'OrdersError', status: 429, code: 'api_key_banned', retryAfterMs: 36_000_000 };
  await assert.rejects(client.list(), (error) => {
    assert.ok(error instanceof OrdersError);
    const { name, status, code, retryAfterMs } = error;
    assert.deepEqual({ name, status, code, retryAfterMs }, expected);
    return true;
  });
  assert.deepEqual(waits, []);
});

test('the client waits longer after each failed attempt, and gives up after the fifth', async () => {
  const { client, failNext, waits } = open();
  failNext(503, 500, 'request_lost', 'response_torn');
  assert.equal((await client.list()).length, 3);
  assert.ok(waits.every((ms, index) => ms <= 1_000 + 250 * 2 ** (index + 1)));
  assert.equal(waits.length, 4);

  failNext(500, 500, 500, 500, 500);
  await assert.rejects(client.cancel(EDGE), { name: 'OrdersError', status: 500, code: 'internal_error' });
  failNext(503, 503, 503, 503, 'response_lost');
  await assert.rejects(client.list(), { name: 'TypeError', message: 'fetch failed' });
  assert.equal((await client.list()).length, 3);
});

test('the client repeats a cancellation whose response was lost, and reports success', async () => {
  for (const fault of ['response_lost', 'response_torn', 'request_lost', { delayMs: 60_000 }] as const) {
    const { client, failNext, store } = open({ timeoutMs: 50 });
    failNext(fault);
    assert.equal(await client.cancel(EDGE + 1n), 'cancelled', JSON.stringify(fault));
    assert.equal(store.get(EDGE + 1n)?.status, 'cancelled');
    assert.equal(await client.cancel(EDGE + 1n), 'already_cancelled');
  }
});

test('the client does not repeat a request that was refused because its API key is wrong', async () => {
  const { client, waits } = open({ apiKey: 'unknown' });
  await assert.rejects(client.list(), { name: 'OrdersError', status: 401, code: 'invalid_api_key' });
  await assert.rejects(client.cancel(EDGE), { status: 401 });
  assert.deepEqual(waits, []);
});
