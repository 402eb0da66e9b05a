import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createMemoryOrderStore, createOrderService } from 'store-orders';
import { createPlan } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { connectRedis } from '../../../support/redis-server.js';
import type { LoadingOptions, LoadingResult } from './loading.js';

/**
 * A process that sends requests at a steady rate to an order service, whose limiter uses a server
 * that will fail. It reports each change of the limiter's mode. Parameter: LoadingOptions as JSON.
 */
const options: LoadingOptions = JSON.parse(process.argv[2] ?? '');
const { port, prefix, perSecond, quota } = options;
const hourly = (name: string, quota: number) =>
  createPlan({ name, policies: [{ name: 'hour', quota, windowMs: 3_600_000 }], ban: false });
const [plentyPlan, scarcePlan] = [hourly('plenty', 1e9), hourly('scarce', quota)];

const client = connectRedis(port);
const limiter = createRedisLimiter({
  send: (command) => client.call(...command),
  prefix,
  onMode: (mode) => process.send?.({ mode }),
});
const service = createOrderService({
  store: createMemoryOrderStore([{ id: 1 }]),
  limiter,
  authenticate: (id) => ({ id, plan: id === 'scarce' ? scarcePlan : plentyPlan }),
});

const plenty: Record<number, number> = {};
const scarce: Record<number, number> = {};
const pending = new Set<Promise<void>>();
let slowestMs = 0;

async function request(key: string): Promise<void> {
  const startedMs = performance.now();
  const rawHeaders = ['Host', 'store.test', 'Authorization', `Bearer ${key}`];
  const { status } = await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders });
  slowestMs = Math.max(slowestMs, performance.now() - startedMs);
  const counts = key === 'scarce' ? scarce : plenty;
  counts[status] = (counts[status] ?? 0) + 1;
}

// On a busy machine the first calls may be late.
const isReady = () =>
  limiter.reset('warm').then(
    () => true,
    () => false,
  );
while (!(await isReady()));
process.send?.({ mode: limiter.mode });

const stalls = monitorEventLoopDelay({ resolution: 5 });
stalls.enable();
const beganMs = performance.now();
let made = 0;
const sending = setInterval(() => {
  for (; made < ((performance.now() - beganMs) * perSecond) / 1_000; made++) {
    const work = request(made % 4 === 0 ? 'scarce' : `customer-${made % 10}`);
    pending.add(work);
    work.then(() => pending.delete(work));
  }
}, 5);

function block(): void {
  const untilMs = performance.now() + 400;
  while (performance.now() < untilMs);
}

let blocking: NodeJS.Timeout | undefined;
process.on('message', async (message) => {
  if (message === 'busy') {
    blocking = setInterval(block, 450);
    return;
  }
  clearInterval(sending);
  clearInterval(blocking);
  await Promise.all(pending);
  process.send?.({ plenty, scarce, slowestMs, stallMs: stalls.max / 1e6 } satisfies LoadingResult, () => {
    client.disconnect();
    process.disconnect();
  });
});
