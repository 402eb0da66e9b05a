import assert from 'node:assert/strict';
import * as prometheus from 'prom-client';
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
import { createMetrics } from '../../../../src/server/metrics/metrics.js';
import { parseMetrics } from './parse-metrics.js';

const ONE_A_DAY = createPlan({ name: 'one', policies: [perDay(1)] });

const FEW_AN_ADDRESS = createPlan({ name: 'address', partition: 'address', policies: [perMinute(6)] });

/**
 * Sends requests from many addresses, with different ids, keys and paths. `seen` must be so high
 * that the first `seen` requests have every possible outcome. Fails if a later request adds a
 * series to the metrics.
 */
export async function assertBounded(seen: number, requests: number): Promise<void> {
  const metrics = createMetrics(prometheus, { database: () => 'ok' }, () => 'shared');
  const clock = createManualClock();
  const { respond } = createOrderService({
    store: createMemoryOrderStore([{ id: 1 }]),
    limiter: createMemoryLimiter({ clock, maxAddresses: 1_000 }),
    addressPlan: FEW_AN_ADDRESS,
    authenticate: (apiKey) => {
      if (apiKey.startsWith('unknown')) return undefined;
      return { id: apiKey, plan: apiKey === 'busy' ? ONE_A_DAY : PLANS.free };
    },
  });
  async function askAll(from: number, to: number): Promise<string> {
    for (let n = from; n < to; n++) {
      clock.advance(1);
      const key = n % 10 === 9 ? `unknown${n}` : n % 10 === 8 ? 'busy' : `k${n}`;
      const rawHeaders = ['Authorization', `Bearer ${key}`, 'X-Request-Id', `id-${n}`];
      const url = n % 5 === 0 ? `/${n}` : `/v1/store/orders${n % 3 === 0 ? `/${n}` : ''}`;
      await respond({ method: n % 3 === 0 ? 'DELETE' : `M${n}`, url, rawHeaders }, `10.0.${n % 100}.1`);
    }
    return metrics.text();
  }
  try {
    const few = parseMetrics(await askAll(0, seen));
    const many = await askAll(seen, requests);
    assert.deepEqual([...parseMetrics(many).keys()].sort(), [...few.keys()].sort());
    assert.ok(many.length < 20_000, `${many.length} characters`);
  } finally {
    metrics.close();
  }
}
