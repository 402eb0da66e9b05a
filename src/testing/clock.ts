import type { Clock } from '../limits/clock.js';

/** A clock that stands still until it is moved. */
export interface ManualClock extends Clock {
  /** Moves the clock by whole milliseconds; backwards if negative. */
  advance(ms: number): void;
}

/** Starts at a Unix time in milliseconds; default 2026-01-01T00:00:00Z. */
export function createManualClock(startMs: number = Date.UTC(2026, 0)): ManualClock {
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
