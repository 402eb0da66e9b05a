import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMemoryLimiter, createPlan, perMinute } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';

// The memory limiter has a pool of `maxAddresses` buckets for addresses. While the pool is full,
// all new addresses share one additional bucket. Once the pool has room again, a new address gets a
// bucket of its own.

test('an address that used the shared bucket gets a full bucket of its own after the shared window has ended', () => {
  const clock = createManualClock();
  const limiter = createMemoryLimiter({ clock, maxAddresses: 1 });
  const plan = createPlan({ name: 'strangers', policies: [perMinute(5)], partition: 'address' });
  limiter.take('early', plan);
  for (let n = 0; n < 9; n++) limiter.take(`late ${n}`, plan);
  clock.advance(60_000);
  assert.equal(limiter.take('late 1', plan).inForce.remaining, 4);
});

test('no address is admitted before its Retry-After or above its quota, whatever other addresses send', () => {
  const requests = fc.array(fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 12 })), { maxLength: 400, size: 'max' });
  const refills = fc.constantFrom('interval', 'continuous');
  const check = fc.property(requests, fc.integer({ min: 1, max: 6 }), refills, (history, maxAddresses, refill) => {
    const policies = [{ name: 'w', quota: 3, windowMs: 50, refill }];
    const plan = createPlan({ name: 'strangers', policies, partition: 'address' });
    const clock = createManualClock();
    const limiter = createMemoryLimiter({ clock, maxAddresses });
    const retryAtMs = new Map<number, number>();
    const admitted = new Map<number, number[]>();
    for (const [address, ms] of history) {
      clock.advance(ms);
      const { allowed, nowMs, retryAfterMs } = limiter.take(`${address}`, plan);
      if (!allowed) {
        retryAtMs.set(address, nowMs + retryAfterMs);
        continue;
      }
      assert.ok(nowMs >= (retryAtMs.get(address) ?? 0), `${address} passed early`);
      const times = [...(admitted.get(address) ?? []), nowMs];
      admitted.set(address, times);
      // The quota is 3 requests in a window of 50 ms. Three requests can pass at the end of one
      // window and three at the beginning of the next window, which makes six within 50 ms.
      assert.ok(times.filter((atMs) => atMs > nowMs - 50).length <= 2 * 3);
    }
  });
  fc.assert(check, { numRuns: 500 });
});
