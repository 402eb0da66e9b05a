import { createMemoryOrderStore, createOrderService, type Plan, type RateLimiter } from 'store-orders';

export interface Answered {
  readonly key: string;
  readonly status: number;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly retryAfter: string | undefined;
}

const EVERY_MS = 5;

/**
 * Sends requests to an order service at a steady rate until `stop` is called. Uses one key after
 * the other.
 */
export function startLoad(limiter: RateLimiter, plan: Plan, keys: readonly string[], perSecond: number) {
  const service = createOrderService({
    store: createMemoryOrderStore([{ id: 1 }]),
    limiter,
    authenticate: (apiKey) => ({ id: apiKey, plan }),
  });
  const answered: Answered[] = [];
  const pending = new Set<Promise<void>>();
  const beganMs = performance.now();
  let made = 0;

  async function request(key: string): Promise<void> {
    const startedMs = performance.now();
    const rawHeaders = ['Host', 'store.test', 'Authorization', `Bearer ${key}`];
    const reply = await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders, httpVersion: '1.1' });
    const at = reply.headers.indexOf('Retry-After');
    const retryAfter = at < 0 ? undefined : reply.headers[at + 1];
    answered.push({ key, status: reply.status, startedMs, endedMs: performance.now(), retryAfter });
  }

  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - beganMs) * perSecond) / 1_000);
    for (; made < due; made++) {
      const work = request(keys[made % keys.length] ?? '');
      pending.add(work);
      work.then(() => pending.delete(work));
    }
  }, EVERY_MS);

  return {
    answered,
    async stop(): Promise<void> {
      clearInterval(timer);
      await Promise.all(pending);
    },
  };
}
