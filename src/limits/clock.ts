/** Where a limiter has its time from; both in whole milliseconds. */
export interface Clock {
  /** Never stepped by an administrator or by NTP. Near the Unix epoch's count, so that it can be stored. */
  nowMs(): number;
  /** What to add to `nowMs()` for the Unix time. Whoever has just read the clock says what it showed. */
  utcOffsetMs(nowMs?: number): number;
}

const TOLERATED_MS = 1_000;

/**
 * The process's monotonic clock. The offset to the wall clock changes only when the two differ by more than a second,
 * so that an announced reset does not wobble; it is looked at once a second at most.
 */
export function createSystemClock(): Clock {
  // Both are getters, and to read them at every look is a quarter of its cost.
  const { performance } = globalThis;
  const { timeOrigin } = performance;
  let offsetMs = 0;
  let checkedMs = Number.NEGATIVE_INFINITY;
  const nowMs = () => Math.floor(timeOrigin + performance.now());
  // What is rare is a function of its own, here and in memory/limiter.ts, so that V8 has room to inline the rest: with a shorter `charge`, 4 to 8 % of a take.
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
