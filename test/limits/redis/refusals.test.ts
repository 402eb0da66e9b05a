import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';

const SLOW_MS = 40;
const WINDOW_MS = 9_700;
const plan = createPlan({ name: 'long', policies: [{ name: 'long', quota: 1, windowMs: WINDOW_MS }], ban: false });

for (const [way, thereMs, backMs] of [
  ['to the server', SLOW_MS, 0],
  ['from the server', 0, SLOW_MS],
] as const) {
  test(`a repeated refusal's wait is never too short, and at most a round trip too long, if each message ${way} takes ${SLOW_MS} ms`, async (t) => {
    let localMs = 5_000.5;
    t.mock.method(performance, 'now', () => localMs);
    const serverMs = () => Math.floor(localMs + 1e12);
    const resetAtMs = serverMs() + WINDOW_MS;
    let sent = 0;
    const limiter = createRedisLimiter({
      onBackendError: 'closed',
      async send() {
        sent++;
        localMs += thereMs;
        const leftMs = resetAtMs - serverMs();
        const reply = leftMs > 0 ? [serverMs(), 0, 1, leftMs] : [serverMs(), -1, 1, WINDOW_MS];
        localMs += backMs;
        return reply;
      },
    });
    let refused = 0;
    for (; ; refused++) {
      const { allowed, retryAfterMs } = await limiter.take('abuser', plan);
      if (allowed) break;
      const tooLongMs = retryAfterMs - (resetAtMs - serverMs());
      assert.ok(tooLongMs >= 0 && tooLongMs <= SLOW_MS + 2, `${tooLongMs} ms too long`);
      localMs += 7.3;
    }
    assert.ok(serverMs() <= resetAtMs + 2 * SLOW_MS, 'the key passes when its window has reset');
    assert.ok(refused > 1_000 && sent <= 12, `${sent} calls for ${refused} refusals`);
  });
}
