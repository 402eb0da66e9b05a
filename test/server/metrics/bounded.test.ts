import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createMemoryLimiter,
  createMemoryOrderStore,
  createOrderService,
  createPlan,
  PLANS,
  perDay,
  perMinute,
} from 'store-orders';
import { createManualClock } from 'store-orders/testing';
import { createMetrics } from '../../../src/server/metrics/metrics.js';

test('/metrics does not grow with thousands of different ids, keys, paths, methods and addresses', async () => {
  const metrics = createMetrics({ database: () => 'ok' }, () => 'shared');
  const clock = createManualClock();
  const oneADay = createPlan({ name: 'one', policies: [perDay(1)] });
  const { respond } = createOrderService({
    store: createMemoryOrderStore([{ id: 1 }]),
    limiter: createMemoryLimiter({ clock, maxAddresses: 1_000 }),
    addressPlan: createPlan({ name: 'address', partition: 'address', policies: [perMinute(6)] }),
    authenticate: (apiKey) => {
      if (apiKey.startsWith('unknown')) return undefined;
      return { id: apiKey, plan: apiKey === 'busy' ? oneADay : PLANS.free };
    },
  });
  /** Sends requests, and returns the names and labels of all series in the metrics. */
  async function seriesAfter(from: number, to: number): Promise<readonly string[]> {
    for (let n = from; n < to; n++) {
      clock.advance(1);
      const key = ['busy', `unknown${n}`][n % 10] ?? `k${n}`;
      const rawHeaders = ['Authorization', `Bearer ${key}`, 'X-Request-Id', `id-${n}`];
      const url = n % 5 === 0 ? `/${n}` : `/v1/store/orders${n % 3 === 0 ? `/${n}` : ''}`;
      await respond({ method: n % 3 === 0 ? 'DELETE' : `M${n}`, url, rawHeaders }, `10.0.${n % 100}.1`);
    }
    const lines = (await metrics()).split('\n');
    return lines.map((line) => line.replace(/ \S+$/, '')).sort();
  }
  // The first requests have every possible outcome.
  const series = await seriesAfter(0, 4_000);
  assert.deepEqual(await seriesAfter(4_000, 8_000), series);
});
