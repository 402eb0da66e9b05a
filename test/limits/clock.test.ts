import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createMemoryLimiter, PLANS } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';

/**
 * Mocks the machine's two clocks: `elapsedMs` is the time since the process started, and `wallMs`
 * is the time of the wall clock.
 */
function mockClocks(t: TestContext) {
  const machine = { elapsedMs: 5_000, wallMs: Math.floor(performance.timeOrigin) + 5_000 };
  t.mock.method(performance, 'now', () => machine.elapsedMs);
  t.mock.method(Date, 'now', () => machine.wallMs);
  return machine;
}

test('the offset to the wall clock is corrected only when it is wrong by more than a second', (t) => {
  const machine = mockClocks(t);
  const originMs = Math.floor(performance.timeOrigin);
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
    machine.elapsedMs += 1_000;
    machine.wallMs = originMs + machine.elapsedMs + aheadMs;
    assert.equal(offsetMs(), expectedMs, `${aheadMs} ms ahead`);
  }
  machine.wallMs -= 60_000;
  machine.elapsedMs += 999;
  assert.equal(offsetMs(), 3_600_000, 'the wall clock is read at most once a second');
  machine.elapsedMs += 1;
  assert.equal(offsetMs(), 3_600_000 - 61_000);
});

test('if the wall clock is set, the announced reset time moves, but the windows of the limiter do not', (t) => {
  const machine = mockClocks(t);
  const limiter = createMemoryLimiter();
  const resets = () => limiter.take('key', PLANS.free).windows.map(({ resetAtMs }) => resetAtMs);
  const before = resets();
  for (const steppedMs of [-86_400_000, 3 * 86_400_000]) {
    machine.elapsedMs += 1_000;
    machine.wallMs += steppedMs + 1_000;
    assert.deepEqual(resets(), before);
    const { nowMs, utcOffsetMs } = limiter.peek('key', PLANS.free, 0);
    assert.equal(nowMs + utcOffsetMs, machine.wallMs);
  }
  assert.equal(limiter.peek('key', PLANS.free, 0).inForce.remaining, 57);
});

test('a manual clock moves only when it is advanced, and only by whole milliseconds', () => {
  const clock = createManualClock();
  assert.equal(clock.nowMs(), Date.UTC(2026, 0));
  clock.advance(5);
  clock.advance(-7);
  assert.equal(clock.nowMs(), Date.UTC(2026, 0) - 2);
  assert.throws(() => clock.advance(0.5), { name: 'RangeError', message: /^ms: / });
});
