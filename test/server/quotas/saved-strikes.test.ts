import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, perDay } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';
import { withSavedQuotas } from '../../../dist/server/quotas/saved-limiter.js';
import { openSqliteStorage } from '../../../dist/server/storage/sqlite.js';

test('refusals that count towards a ban are saved with their times, and still count after a restart', async (t) => {
  const opened = openSqliteStorage(':memory:', { create: true });
  assert.ok(opened.ok);
  t.after(opened.data.close);
  const plan = createPlan({ name: 'strict', policies: [perDay(1)], ban: { after: 3, graceMs: 10, withinMs: 1_000 } });
  const start = async (startMs: number, utcOffsetMs: number) => {
    const clock = { ...createManualClock(startMs), utcOffsetMs: () => utcOffsetMs };
    const limiter = createMemoryLimiter({ clock });
    return { clock, limiter, saved: await withSavedQuotas({ limiter, clock, table: opened.data.quotas }) };
  };

  const before = await start(1_000_000, 5_000);
  for (const afterMs of [0, 0, 1, 100, 600]) {
    before.clock.advance(afterMs);
    before.saved.take('key', plan);
  }
  await before.saved.save();
  const { refusedAtMs, forgiven, strikesAtMs } = before.limiter.inspect('key')?.ban ?? assert.fail();
  assert.deepEqual([refusedAtMs, forgiven, strikesAtMs], [1_000_000, 1, [1_000_101, 1_000_701]]);

  // After the restart, the clock's offset to Unix time is different. A refusal counts towards
  // a ban for 1,000 ms. The older of the two saved refusals is 999 or 1,000 ms old at the restart.
  for (const [afterMs, verdict] of [
    [399, 'banned'],
    [400, 'over_quota'],
  ] as const) {
    const after = await start(7_000_701 + afterMs, 5_000 - 6_000_000);
    assert.deepEqual(after.limiter.inspect('key')?.ban?.strikesAtMs, [7_000_101, 7_000_701]);
    assert.equal(
      after.saved.take('key', plan).verdict,
      verdict,
      `the oldest refusal that counts towards a ban is ${600 + afterMs} ms old`,
    );
  }
});
