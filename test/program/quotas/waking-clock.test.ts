import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, perDay } from 'store-orders/limiter';
import { createWakingClock } from '../../../dist/program/quotas/waking-clock.js';

const HOUR_MS = 3_600_000;
const plan = createPlan({ name: 'daily', policies: [perDay(1)], ban: false });

for (const [what, uptimeMs, before, after] of [
  ['the machine was suspended', 25 * HOUR_MS, 'over_quota', 'within_quota'],
  ['somebody has set the system time', 0, 'over_quota', 'over_quota'],
] as const) {
  test(`after ${what}, a window has ${uptimeMs > 0 ? 'gone on' : 'stood still'}, and its reset is right in Unix time`, (t) => {
    let processMs = 10_000;
    let unixMs = Date.now();
    let upMs = 5_000_000;
    t.mock.method(performance, 'now', () => processMs);
    t.mock.method(Date, 'now', () => unixMs);
    const pass = (ms: number) => {
      processMs += ms;
      unixMs += ms;
      upMs += ms;
    };
    const clock = createWakingClock(() => Math.floor(upMs / 1_000));
    const limiter = createMemoryLimiter({ clock });
    limiter.take('ann', plan);
    pass(HOUR_MS);
    assert.equal(limiter.take('ann', plan).result, before);
    unixMs += 25 * HOUR_MS;
    upMs += uptimeMs;
    pass(1_001);
    const decision = limiter.take('ann', plan);
    assert.equal(decision.result, after);
    const leftMs = decision.inForce.resetAtMs + decision.utcOffsetMs - unixMs;
    const expectedMs = (after === 'over_quota' ? 23 : 24) * HOUR_MS;
    assert.ok(Math.abs(leftMs - expectedMs) <= 2_001, `resets in ${leftMs} ms`);
  });
}
