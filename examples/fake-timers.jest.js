/**
 * A client that waits by `setTimeout`, tested in Jest with its fake timers: `createDateClock()`
 * makes the quotas of the test service follow the fake timers. In Jest, save it as
 * `fake-timers.test.js`. Jest loads ES modules only when Node.js is started with
 * `--experimental-vm-modules`.
 */

import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createDateClock, createTestService } from 'store-orders/testing';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** The client under test. */
async function list({ url, fetch, apiKey }) {
  for (;;) {
    const response = await fetch(`${url}/store/orders`, { headers: { Authorization: `Bearer ${apiKey}` } });
    if (response.status !== 429) return response;
    await new Promise((resolve) => setTimeout(resolve, Number(response.headers.get('Retry-After')) * 1_000));
  }
}

test('the client waits for as long as it is told, and not longer', async () => {
  const service = createTestService({ clock: createDateClock() });
  service.exhaust(service.apiKey);
  let status = 0;
  list(service).then((response) => {
    status = response.status;
  });
  await jest.advanceTimersByTimeAsync(59_999);
  expect(status).toBe(0);
  await jest.advanceTimersByTimeAsync(1);
  expect(status).toBe(200);
});

test('a slow answer arrives when the timers have advanced that far', async () => {
  const orders = Array.from({ length: 1_000 }, (_, id) => ({ id }));
  const service = createTestService({ orders, clock: createDateClock() });
  service.failNext({ delayMs: 30_000 });
  const answer = list(service);
  await jest.advanceTimersByTimeAsync(30_000);
  expect(await (await answer).json()).toHaveLength(1_000);
});
