import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { test } from 'node:test';
import {
  createMemoryLimiter,
  createMemoryOrderStore,
  createOrderService,
  createPlan,
  PLANS,
  perDay,
} from 'store-orders';
import { createMetrics } from '../../../src/server/metrics/metrics.js';
import { parseMetrics } from './support/parse-metrics.js';

const REQUESTS = 1_000_000;
/** After this many requests every outcome has occurred, and all addresses are over their limits. */
const SEEN = 400_000;
const ONE_A_DAY = createPlan({ name: 'one', policies: [perDay(1)] });

test('a million different ids, keys, paths, plans and addresses leave /metrics the same size', async () => {
  const metrics = createMetrics(true);
  const { respond } = createOrderService({
    store: createMemoryOrderStore([{ id: 1 }]),
    limiter: createMemoryLimiter({ maxAddresses: 1_000 }),
    authenticate: (apiKey) => {
      if (apiKey.startsWith('unknown')) return undefined;
      return { id: apiKey, plan: apiKey === 'busy' ? ONE_A_DAY : PLANS.free };
    },
  });
  async function askAll(from: number, to: number): Promise<string> {
    for (let n = from; n < to; n++) {
      const key = n % 10 === 9 ? `unknown${n}` : n % 10 === 8 ? 'busy' : `k${n}`;
      const rawHeaders = ['Authorization', `Bearer ${key}`, 'X-Request-Id', `id-${n}`];
      const url = n % 5 === 0 ? `/${n}` : `/v1/store/orders${n % 3 === 0 ? `/${n}` : ''}`;
      await respond({ method: n % 3 === 0 ? 'DELETE' : `M${n}`, url, rawHeaders }, `10.0.${n % 100}.1`);
    }
    return metrics.text({ database: () => 'ok' });
  }
  try {
    const few = parseMetrics(await askAll(0, SEEN));
    const many = await askAll(SEEN, REQUESTS);
    assert.deepEqual([...parseMetrics(many).keys()].sort(), [...few.keys()].sort());
    assert.ok(many.length < 20_000, `${many.length} characters`);

    // The number of plan names is bounded too, although they come from the host's own plans.
    const message = { status: 429, code: 'rate_limit_exceeded', durationMs: 1, requestId: 'x' };
    for (let n = 0; n < REQUESTS; n++) channel('store-orders:reply').publish({ ...message, plan: `plan "${n}"` });
    const plans = await metrics.text({});
    assert.ok(plans.length < 25_000, `${plans.length} characters`);
    assert.ok(plans.includes('plan="other"'));
  } finally {
    metrics.close();
  }
});
