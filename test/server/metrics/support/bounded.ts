import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
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
  const metrics = createMetrics(true);
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
    return metrics.text({ database: () => 'ok' });
  }
  try {
    const few = parseMetrics(await askAll(0, seen));
    const many = await askAll(seen, requests);
    assert.deepEqual([...parseMetrics(many).keys()].sort(), [...few.keys()].sort());
    assert.ok(many.length < 20_000, `${many.length} characters`);

    // The number of plan names in the metrics is bounded too, although an embedding program may
    // define any number of plans.
    const message = { status: 429, code: 'rate_limit_exceeded', durationMs: 1, requestId: 'x' };
    for (let n = 0; n < requests; n++) channel('store-orders:reply').publish({ ...message, plan: `plan "${n}"` });
    const plans = await metrics.text({});
    assert.ok(plans.length < 25_000, `${plans.length} characters`);
    assert.ok(plans.includes('plan="other"'));
  } finally {
    metrics.close();
  }
}
