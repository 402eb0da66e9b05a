import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter } from 'store-orders/redis';
import { createManualClock } from 'store-orders/testing';

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

test("the host's clock gives the script its time, and the decision its offset from UTC", async () => {
  const instants: unknown[] = [];
  const limiter = createRedisLimiter({
    clock: { nowMs: () => 5_001, utcOffsetMs: () => 7_000 },
    async send(command) {
      instants.push(command.at(-1));
      return [5_001, -1, 1, 60_000];
    },
  });
  const { utcOffsetMs } = await limiter.take('key', createPlan({ name: 'daily', policies: [perDay(2)] }));
  assert.deepEqual([instants, utcOffsetMs], [['5001 7000'], 7_000]);
});

for (const [way, thereMs, backMs] of [
  ['to the server', 40, 0],
  ['from the server', 0, 40],
] as const) {
  test(`an abusive key causes a call a second, and its wait is never too short and at most a round trip too long, if a message ${way} takes 40 ms`, async (t) => {
    let nowMs = 10_000.5;
    t.mock.method(performance, 'now', () => nowMs);
    const plan = createPlan({ name: 'long', policies: [{ name: 'long', quota: 1, windowMs: 9_700 }], ban: false });
    const leftMs = () => 19_700 - Math.floor(nowMs);
    let calls = 0;
    const limiter = createRedisLimiter({
      async send() {
        calls++;
        nowMs += thereMs;
        const reply = [Math.floor(nowMs), leftMs() > 0 ? 0 : -1, 1, leftMs()];
        nowMs += backMs;
        return reply;
      },
    });
    for (; !(await limiter.take('abuser', plan)).allowed; nowMs += 7.3) {
      const tooLongMs = (await limiter.take('abuser', plan)).retryAfterMs - leftMs();
      assert.ok(tooLongMs >= 0 && tooLongMs <= 42, `${tooLongMs} ms too long`);
    }
    assert.ok(leftMs() >= -2 * 40, 'the key passes when its window has reset');
    assert.equal(calls, 11);
  });
}
