import type { Clock } from '../limits/clock.js';

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves the clock by whole milliseconds; backwards if negative. */
  advance(ms: number): void;
}

/**
 * Creates a clock that starts at a Unix time in whole milliseconds. Default: 2026-01-01T00:00:00Z.
 * Throws a TypeError for anything else.
 */
export function createManualClock(startMs: number = Date.UTC(2026, 0)): ManualClock {
  if (!Number.isSafeInteger(startMs)) throw new TypeError('startMs: expected a Unix time in whole milliseconds');
  let now = startMs;
  return {
    nowMs: () => now,
    utcOffsetMs: () => 0,
    advance(ms) {
      if (!Number.isInteger(ms)) throw new RangeError('ms: expected a whole number');
      now += ms;
    },
  };
}
