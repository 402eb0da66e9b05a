import { createMemoryLimiter, createOrderService, createPlan } from 'store-orders';
import { Bench } from 'tinybench';
import { isQuick } from '../processes/pace.js';
import type { Table } from '../report/table.js';
import { API_KEY, tenOrders } from '../servers/orders.js';
import { PLENTY } from '../servers/plenty.js';

const BATCH = 100;

/** Measures how long the service takes to respond to one request, without a socket. */
export async function respond(): Promise<Table> {
  const spent = createPlan({
    name: 'spent',
    policies: [{ name: 'year', quota: 1, windowMs: 31_536_000_000 }],
    ban: false,
  });
  const service = createOrderService({
    store: tenOrders(),
    limiter: createMemoryLimiter(),
    authenticate: (apiKey) => (apiKey === API_KEY ? { id: 'bench', plan: PLENTY } : { id: 'spent', plan: spent }),
    addressPlan: createPlan({ ...PLENTY, partition: 'address', ban: false }),
  });
  const valid = ['Host', '127.0.0.1', 'Authorization', `Bearer ${API_KEY}`];
  const over = ['Host', '127.0.0.1', 'Authorization', 'Bearer spent'];
  const requests = {
    'GET, 10 orders': { method: 'GET', url: '/v1/store/orders', rawHeaders: valid },
    'DELETE, 404': { method: 'DELETE', url: '/v1/store/orders/1', rawHeaders: valid },
    'GET without an API key, 401': { method: 'GET', url: '/v1/store/orders', rawHeaders: ['Host', '127.0.0.1'] },
    'GET over the quota, 429': { method: 'GET', url: '/v1/store/orders', rawHeaders: over },
  };
  const bench = new Bench(isQuick ? { time: 1, warmup: false } : { time: 1_000, warmupTime: 200 });
  for (const [name, request] of Object.entries(requests)) {
    bench.add(name, () => {
      for (let i = 0; i < BATCH; i++) service.respond(request, '192.0.2.1');
    });
  }
  await bench.run();
  return {
    title: 'Time of one call of `respond`, with the order store and the rate limiter in memory',
    head: ['request', 'microseconds each (median)'],
    headlines: [1],
    rows: bench.tasks.map(({ name, result }) => [
      name,
      'latency' in result ? ((result.latency.p50 * 1_000) / BATCH).toFixed(2) : 'failed',
    ]),
  };
}
