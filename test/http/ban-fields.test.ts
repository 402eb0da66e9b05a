import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlan, perDay, perMinute } from 'store-orders/limiter';
import { createTestService } from 'store-orders/testing';
import { parseList } from 'structured-headers';

function open(...args: Parameters<typeof createTestService>) {
  const shop = createTestService(...args);
  const headers = { Authorization: `Bearer ${shop.apiKey}` };
  return {
    ...shop,
    async ask() {
      const answer = await shop.fetch(`${shop.url}/store/orders`, { headers });
      const number = (name: string) => Number(answer.headers.get(name));
      const windows = parseList(answer.headers.get('RateLimit') ?? '').map(([name, parameters]) => [
        name,
        Object.fromEntries(parameters),
      ]);
      return {
        status: answer.status,
        retryAfter: number('Retry-After'),
        xRateLimit: [number('X-RateLimit-Limit'), number('X-RateLimit-Remaining'), number('X-RateLimit-Reset')],
        windows: Object.fromEntries(windows),
      };
    },
  };
}

/**
 * Returns the clock's time in seconds, the unit of the header fields. The result is a whole number
 * if the test advances the clock by whole seconds only.
 */
function secondsOf({ nowMs }: { nowMs(): number }): number {
  return nowMs() / 1_000;
}

test('during a ban, X-RateLimit-* stay the same, and RateLimit reports the tokens that are left in each window', async () => {
  const { ask, clock } = open();
  for (let n = 0; n < 60; n++) assert.equal((await ask()).status, 200);
  assert.equal((await ask()).status, 429);
  clock.advance(3_000);
  for (let n = 0; n < 19; n++) assert.deepEqual((await ask()).xRateLimit, [60, 0, secondsOf(clock) + 57]);

  const passesAt = secondsOf(clock) + 60;
  for (let left = 60; left > 0; left--) {
    const { status, retryAfter, xRateLimit, windows } = await ask();
    assert.deepEqual(
      { status, retryAfter, xRateLimit },
      { status: 429, retryAfter: left, xRateLimit: [60, 0, passesAt] },
    );
    assert.deepEqual(windows['day'], { r: 940, t: 86_400 - 63 + left });
    assert.deepEqual(windows['minute'], left > 3 ? { r: 0, t: left - 3 } : { r: 60, t: 60 });
    clock.advance(1_000);
  }
  assert.equal((await ask()).status, 200);
});

test('responses announce the end of a ban even if the key has not used its quotas', async () => {
  const { ask, ban, apiKey, clock } = open();
  ban(apiKey, 90_000);
  const passesAt = secondsOf(clock) + 90;
  for (const afterMs of [0, 1_000, 50_000, 38_000]) {
    clock.advance(afterMs);
    const { xRateLimit, windows } = await ask();
    assert.deepEqual(xRateLimit, [60, 0, passesAt]);
    assert.deepEqual(windows, { minute: { r: 60, t: 60 }, day: { r: 1_000, t: 86_400 } });
  }
});

test('if a used-up window ends later than the ban, X-RateLimit-Reset and Retry-After announce the end of the window', async () => {
  const plan = createPlan({ name: 'small', policies: [perMinute(60), perDay(2)] });
  const { ask, ban, apiKey, clock } = open({ plan });
  for (let n = 0; n < 2; n++) await ask();
  ban(apiKey, 5_000);
  const passesAt = secondsOf(clock) + 86_400;
  for (const afterMs of [0, 4_000, 1_000]) {
    clock.advance(afterMs);
    const { xRateLimit, retryAfter } = await ask();
    assert.deepEqual([...xRateLimit, retryAfter], [2, 0, passesAt, passesAt - secondsOf(clock)]);
  }
});

test('with continuous refill, RateLimit announces when the next token comes back, and X-RateLimit-Reset when all tokens are back', async () => {
  const trickle = { name: 'trickle', quota: 4, windowMs: 80_000, refill: 'continuous' } as const;
  const { ask, clock, quota, apiKey } = open({ plan: createPlan({ name: 'trickle', policies: [trickle] }) });
  const startsAt = secondsOf(clock);
  const rows = [
    [0, 200, 3, 20, 20],
    [15, 200, 2, 5, 40],
    [0, 200, 1, 5, 60],
    [0, 200, 0, 5, 80],
    [0, 429, 0, 5, 80],
    [5, 200, 0, 20, 100],
  ] as const;
  for (const [afterS, status, r, t, resetsAfter] of rows) {
    clock.advance(afterS * 1_000);
    const answer = await ask();
    assert.deepEqual([answer.status, answer.windows], [status, { trickle: { r, t } }]);
    assert.deepEqual(answer.xRateLimit, [4, r, startsAt + resetsAfter]);
    if (status === 429) assert.equal(answer.retryAfter, t);
  }
  clock.advance(1_000_000);
  const { windows, nowMs } = quota(apiKey);
  assert.equal(windows[0]?.refillAtMs, nowMs + 20_000, 'a token taken now would come back after 20 s');
});
