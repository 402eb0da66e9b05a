import { checkMethods } from '../check.js';

/** A clock for limiters, in whole milliseconds. */
export interface Clock {
  /**
   * Returns the time of a clock that does not jump when an administrator or NTP sets the system
   * time. It is close to Unix time, so that stored instants are still valid after a restart.
   */
  nowMs(): number;
  /**
   * Returns what to add to `nowMs()` to get Unix time. A caller that has just called `nowMs()` can
   * pass its result as `nowMs`.
   */
  utcOffsetMs(nowMs?: number): number;
}

/** Throws a TypeError unless `clock` has the methods of a {@link Clock}. */
export function checkClock(clock: Clock): void {
  checkMethods('clock', clock, ['nowMs', 'utcOffsetMs']);
}

/** How wrong the offset to Unix time may be before it is changed. */
export const TOLERATED_MS = 1_000;

/**
 * Creates a clock from the process's monotonic clock. The offset to Unix time is measured at most
 * once a second. It changes only when it is wrong by more than a second, so that the announced
 * reset times do not vary by small amounts.
 */
export function createSystemClock(): Clock {
  // `performance` is a getter, and slow to read in every call. Fake timers of Jest 29 and older
  // replace its `timeOrigin` by a function, so the origin is computed.
  const { performance } = globalThis;
  const originMs = Date.now() - performance.now();
  let offsetMs = 0;
  let checkedMs = Number.NEGATIVE_INFINITY;
  const nowMs = () => Math.floor(originMs + performance.now());
  // Rare work is in functions of its own, here and in memory/limiter.ts, so that V8 can inline the
  // common path.
  function check(now: number): number {
    checkedMs = now;
    const measuredMs = Date.now() - now;
    if (Math.abs(measuredMs - offsetMs) > TOLERATED_MS) offsetMs = measuredMs;
    return offsetMs;
  }
  return {
    nowMs,
    utcOffsetMs: (now = nowMs()) => (now - checkedMs < TOLERATED_MS ? offsetMs : check(now)),
  };
}
