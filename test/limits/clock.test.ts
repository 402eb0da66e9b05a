import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, PLANS } from 'store-orders/limiter';

test('the offset to the wall clock is corrected only when it is wrong by more than a second', (t) => {
  const originMs = Math.floor(performance.timeOrigin);
  let [elapsedMs, wallMs] = [5_000, originMs + 5_000];
  t.mock.method(performance, 'now', () => elapsedMs);
  t.mock.method(Date, 'now', () => wallMs);
  const limiter = createMemoryLimiter();
  const offsetMs = () => limiter.peek('key', PLANS.free).utcOffsetMs;
  // Each row has the milliseconds by which the wall clock is ahead of the monotonic one, and the
  // offset that the limiter then reports.
  for (const [aheadMs, expectedMs] of [
    [0, 0],
    [1_000, 0],
    [-1_000, 0],
    [1_001, 1_001],
    [2_001, 1_001],
    [1, 1_001],
    [0, 0],
    [-1_001, -1_001],
    [3_600_000, 3_600_000],
  ] as const) {
    elapsedMs += 1_000;
    wallMs = originMs + elapsedMs + aheadMs;
    assert.equal(offsetMs(), expectedMs, `${aheadMs} ms ahead`);
  }
  wallMs -= 60_000;
  elapsedMs += 999;
  assert.equal(offsetMs(), 3_600_000, 'the wall clock is read at most once a second');
  elapsedMs += 1;
  assert.equal(offsetMs(), 3_600_000 - 61_000);
});

test('a limiter that is created under fake timers counts by them, though some replace performance.timeOrigin by a function', (t) => {
  let fakeMs = 0;
  t.mock.method(performance, 'now', () => fakeMs);
  t.mock.method(Date, 'now', () => Date.UTC(2030, 0) + fakeMs);
  Object.defineProperty(performance, 'timeOrigin', { value: () => {}, configurable: true });
  t.after(() => Reflect.deleteProperty(performance, 'timeOrigin'));
  const limiter = createMemoryLimiter();
  assert.equal(limiter.take('key', PLANS.free, 60).inForce.resetAtMs, Date.UTC(2030, 0, 1, 0, 1));
  for (const [afterMs, result] of [
    [59_999, 'over_quota'],
    [60_000, 'within_quota'],
  ] as const) {
    fakeMs = afterMs;
    assert.equal(limiter.take('key', PLANS.free).result, result);
  }
});
