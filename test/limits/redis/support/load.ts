import { setTimeout as sleep } from 'node:timers/promises';
import { createMemoryOrderStore, createOrderService } from 'store-orders';
import { createPlan } from 'store-orders/limiter';
import { createRedisLimiter, type LimiterMode } from 'store-orders/redis';
import { connectRedis } from '../../../support/redis-server.js';
import { until } from '../../../support/until.js';

export type Load = Awaited<ReturnType<typeof startLoad>>;

const hourly = (name: string, quota: number) =>
  createPlan({ name, policies: [{ name: 'hour', quota, windowMs: 3_600_000 }], ban: false });

/**
 * Sends requests at a steady rate to an order service, with a limiter and a connection of its own.
 * Every fourth request has the key `scarce`, which has the quota `quota` per hour. Resolves when the
 * limiter counts in Redis.
 */
export async function startLoad(port: number, perSecond: number, quota: number) {
  const client = connectRedis(port);
  /** All changes of the limiter's mode since the load began. */
  const modes: LimiterMode[] = [];
  let delayMs: (() => number) | undefined;
  const limiter = createRedisLimiter({
    async send(command) {
      if (delayMs) await sleep(delayMs());
      const reply = await client.call(...command);
      if (delayMs) await sleep(delayMs());
      return reply;
    },
    onMode: (mode) => modes.push(mode),
  });
  const [plentyPlan, scarcePlan] = [hourly('plenty', 1e9), hourly('scarce', quota)];
  const service = createOrderService({
    store: createMemoryOrderStore([{ id: 1 }]),
    limiter,
    authenticate: (id) => ({ id, plan: id === 'scarce' ? scarcePlan : plentyPlan }),
  });
  /** The numbers of responses by status, for keys with plenty of quota and for the key `scarce`. */
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
  const isWarm = () =>
    limiter.reset('warm').then(
      () => limiter.mode === 'shared',
      () => false,
    );
  await until(isWarm);
  modes.length = 0;

  const beganMs = performance.now();
  let made = 0;
  const sending = setInterval(() => {
    for (; made < ((performance.now() - beganMs) * perSecond) / 1_000; made++) {
      const work = request(made % 4 === 0 ? 'scarce' : `customer-${made % 10}`);
      pending.add(work);
      work.then(() => pending.delete(work));
    }
  }, 5);

  return {
    limiter,
    modes,
    /** Delays each command and each reply. */
    set delayMs(next: (() => number) | undefined) {
      delayMs = next;
    },
    async stop() {
      clearInterval(sending);
      await Promise.all(pending);
      client.disconnect();
      return { plenty, scarce, slowestMs };
    },
  };
}
