import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { createMemoryLimiter, PLANS } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';
import { createSystemClock } from '../../dist/limits/clock.js';

/**
 * Mocks the machine's two clocks: `elapsedMs` is the time since the process started, and `wallMs`
 * is the time of the wall clock.
 */
function mockClocks() {
  const machine = { elapsedMs: 5_000, wallMs: Math.floor(performance.timeOrigin) + 5_000 };
  const mocked = [
    mock.method(performance, 'now', () => machine.elapsedMs),
    mock.method(Date, 'now', () => machine.wallMs),
  ];
  return {
    machine,
    [Symbol.dispose]() {
      for (const method of mocked) method.mock.restore();
    },
  };
}

test('the clock corrects its offset to the wall clock only when the offset is wrong by more than a second', () => {
  using clocks = mockClocks();
  const { machine } = clocks;
  const originMs = Math.floor(performance.timeOrigin);
  const clock = createSystemClock();
  /**
   * Each row has the milliseconds by which the wall clock is ahead of the monotonic one, and the
   * offset that `clock` then reports.
   */
  for (const [aheadMs, offsetMs] of [
    [0, 0],
    [1_000, 0],
    [-1_000, 0],
    [1_001, 1_001],
    [1_500, 1_001],
    [2_001, 1_001],
    [1, 1_001],
    [0, 0],
    [-1_001, -1_001],
    [3_600_000, 3_600_000],
  ] as const) {
    machine.elapsedMs += 1_000;
    machine.wallMs = originMs + machine.elapsedMs + aheadMs;
    assert.equal(clock.utcOffsetMs(), offsetMs, `${aheadMs} ms ahead`);
  }
  machine.wallMs -= 60_000;
  machine.elapsedMs += 999;
  assert.equal(clock.utcOffsetMs(), 3_600_000, 'the wall clock is read at most once a second');
  machine.elapsedMs += 1;
  assert.equal(clock.utcOffsetMs(), 3_600_000 - 61_000);
});

test('the clock returns whole milliseconds, close to Unix time', () => {
  using clocks = mockClocks();
  const { machine } = clocks;
  const clock = createSystemClock();
  const beginMs = Math.ceil(performance.timeOrigin);
  for (const [sinceMs, shownMs] of [
    [0, 0],
    [0.25, 0],
    [0.75, 0],
    [1, 1],
    [86_400_000.5, 86_400_000],
  ] as const) {
    machine.elapsedMs = beginMs - performance.timeOrigin + sinceMs;
    assert.equal(clock.nowMs(), beginMs + shownMs);
  }
});

test('if the wall clock is set, the announced reset time moves, but the windows of the limiter do not', () => {
  using clocks = mockClocks();
  const { machine } = clocks;
  const limiter = createMemoryLimiter();
  const before = limiter.take('key', PLANS.free);
  for (const steppedMs of [-86_400_000, 3 * 86_400_000]) {
    machine.wallMs += steppedMs;
    machine.elapsedMs += 1_000;
    machine.wallMs += 1_000;
    const after = limiter.take('key', PLANS.free);
    assert.deepEqual(
      after.windows.map((window) => window.resetAtMs),
      before.windows.map((window) => window.resetAtMs),
    );
    assert.equal(after.nowMs + after.utcOffsetMs, machine.wallMs);
  }
  assert.equal(limiter.peek('key', PLANS.free, 0).inForce.remaining, 57);
});

test('a manual clock moves only when it is advanced, and only by whole milliseconds', () => {
  const clock = createManualClock(1_000);
  assert.equal(clock.nowMs(), 1_000);
  clock.advance(5);
  clock.advance(-7);
  assert.equal(clock.nowMs(), 998);
  assert.equal(clock.utcOffsetMs(), 0);
  assert.equal(createManualClock().nowMs(), Date.UTC(2026, 0));
  assert.throws(() => clock.advance(0.5), { name: 'RangeError', message: /^ms: / });
});
