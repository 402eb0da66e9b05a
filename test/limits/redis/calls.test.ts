import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createMemoryOrderStore, createOrderService } from 'store-orders';
import { createPlan, perMinute } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';

const MINUTE_MS = 60_000;

test("every response announces the reset by this machine's clock, steadily, whatever the clock of the server says", async (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_500 });
  const startMs = Date.now();
  t.mock.method(performance, 'now', () => Date.now() - startMs);
  t.after(() => mock.timers.reset());
  const plan = createPlan({ name: 'p', policies: [perMinute(60)], ban: false });
  let aheadMs = 0;
  let latencyMs = 0;
  let endMs = 0;
  let addressEndMs = 0;
  const limiter = createRedisLimiter({
    refusalCacheMs: 0,
    async send() {
      mock.timers.tick(latencyMs);
      const serverMs = Date.now() + aheadMs;
      const reply = [serverMs, -1, 1, endMs + aheadMs - serverMs];
      mock.timers.tick(latencyMs);
      return reply;
    },
  });
  const service = createOrderService({
    store: createMemoryOrderStore([]),
    limiter,
    authenticate: (key) => (key === 'sesame' ? { id: 'ann', plan } : undefined),
  });
  /** Returns by how many seconds a client that waits for the reset of a response is too late. */
  async function lateness(key: string): Promise<number> {
    if (key !== 'sesame' && Date.now() >= addressEndMs) addressEndMs = Date.now() + MINUTE_MS;
    const rawHeaders = ['Host', 'shop.test', 'Authorization', `Bearer ${key}`];
    const { headers } = await service.respond({ method: 'GET', url: '/v1/store/orders', rawHeaders });
    const reset = Number(headers[headers.indexOf('X-RateLimit-Reset') + 1]);
    return reset - (key === 'sesame' ? endMs : addressEndMs) / 1_000;
  }
  for (aheadMs of [0, -120_000, 120_000, 3_000, -3_000, 0]) {
    endMs = Date.now() + MINUTE_MS;
    const resets = new Set<number>();
    for (latencyMs of [0, 240, 0, 90, 240, 3]) resets.add(await lateness('sesame'));
    assert.equal(resets.size, 1, 'it does not vary within a window');
    const [late = 0] = resets;
    assert.ok(late > -1 && late < 2, `${late} s late, ${aheadMs} ms ahead`);
    const lateWithoutKey = await lateness('wrong');
    assert.ok(lateWithoutKey > -1 && lateWithoutKey < 2, `${lateWithoutKey} s late without a key`);
  }
});
