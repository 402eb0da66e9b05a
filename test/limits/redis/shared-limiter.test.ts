import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { createManualClock } from 'store-orders/testing';

const SLOW_MS = 40;

test('a refusal is repeated for less than a second, to the same request, and until the key is reset, banned or unbanned', async () => {
  const clock = createManualClock();
  const limiter = createRedisLimiter({ clock, send: async () => [clock.nowMs(), 0, 2, 60_000] });
  const daily = createPlan({ name: 'daily', policies: [perDay(2)] });
  async function asks(plan = daily, cost = 1): Promise<boolean> {
    const decision = limiter.take('key', plan, cost);
    await decision;
    return decision instanceof Promise;
  }
  const first = await limiter.take('key', daily);
  clock.advance(999);
  const repeated = { ...first, nowMs: clock.nowMs(), retryAfterMs: 59_001 };
  assert.deepEqual(limiter.take('key', daily), repeated);
  for (const stepMs of [1, -1]) {
    clock.advance(stepMs);
    assert.deepEqual([await asks(), await asks()], [true, false]);
  }
  for (const plan of [daily, structuredClone(daily)]) assert.ok(await asks(plan, 2));
  for (const change of [() => limiter.reset('key'), () => limiter.ban('key', 1), () => limiter.unban('key')]) {
    assert.deepEqual([await asks(), await asks()], [true, false]);
    await change();
  }
  assert.ok(await asks());
});

for (const [way, thereMs, backMs] of [
  ['to the server', SLOW_MS, 0],
  ['from the server', 0, SLOW_MS],
] as const) {
  test(`a repeated refusal's wait is never too short, and at most a round trip too long, if each message ${way} takes ${SLOW_MS} ms`, async (t) => {
    let nowMs = 10_000;
    t.mock.method(performance, 'now', () => nowMs);
    const windowMs = 9_700;
    const plan = createPlan({ name: 'long', policies: [{ name: 'long', quota: 1, windowMs }], ban: false });
    const serverMs = () => Math.floor(nowMs + 1e12);
    const resetAtMs = serverMs() + windowMs;
    let calls = 0;
    const limiter = createRedisLimiter({
      onBackendError: 'closed',
      async send() {
        calls++;
        nowMs += thereMs;
        const leftMs = resetAtMs - serverMs();
        const reply = leftMs > 0 ? [serverMs(), 0, 1, leftMs] : [serverMs(), -1, 1, windowMs];
        nowMs += backMs;
        return reply;
      },
    });
    let refused = 0;
    for (; ; refused++) {
      const { allowed, retryAfterMs } = await limiter.take('abuser', plan);
      if (allowed) break;
      const tooLongMs = retryAfterMs - (resetAtMs - serverMs());
      assert.ok(tooLongMs >= 0 && tooLongMs <= SLOW_MS + 2, `${tooLongMs} ms too long`);
      nowMs += 7.3;
    }
    assert.ok(serverMs() <= resetAtMs + 2 * SLOW_MS, 'the key passes when its window has reset');
    assert.ok(refused > 1_000 && calls <= 12, `${calls} calls for ${refused} refusals`);
  });
}
