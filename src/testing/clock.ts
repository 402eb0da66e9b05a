import type { Clock } from '../limits/clock.js';

/** A clock that a test moves. */
export interface ManualClock extends Clock {
  /** Moves the clock forward by whole milliseconds, or backwards if `ms` is negative. */
  advance(ms: number): void;
}

/**
 * Creates a clock that stands still until it is moved. It starts at `startMs`, a Unix time in whole
 * milliseconds (default: 2026-01-01T00:00:00Z). Throws a TypeError for any other value.
 */
export function createManualClock(startMs: number = Date.UTC(2026, 0)): ManualClock {
  if (!Number.isSafeInteger(startMs)) throw new TypeError('startMs: expected a Unix time in whole milliseconds');
  return createMovableClock(() => startMs);
}

/**
 * Creates a clock that shows the time of `Date`, so it follows the fake timers of Vitest, Jest and
 * node:test. Without fake timers it shows the real time. `advance` adds to the time of `Date`.
 */
export function createDateClock(): ManualClock {
  // Fake timers replace `Date`, so `Date` is looked up at each reading.
  return createMovableClock(() => Date.now());
}

function createMovableClock(read: () => number): ManualClock {
  let movedMs = 0;
  return {
    nowMs: () => read() + movedMs,
    utcOffsetMs: () => 0,
    advance(ms) {
      if (!Number.isInteger(ms)) throw new RangeError('ms: expected a whole number');
      movedMs += ms;
    },
  };
}
