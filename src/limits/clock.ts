/** Supplies a limiter with time, in whole milliseconds. */
export interface Clock {
  /**
   * Returns the time of a clock that neither an administrator nor NTP can step. It is close to Unix
   * time, so that stored instants still hold after a restart.
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
  if (typeof clock?.nowMs !== 'function' || typeof clock.utcOffsetMs !== 'function') {
    throw new TypeError('clock: expected an object with the methods nowMs and utcOffsetMs');
  }
}

const TOLERATED_MS = 1_000;

/**
 * Creates a clock from the process's monotonic clock. The offset to Unix time is measured at most
 * once a second. It changes only when it is wrong by more than a second, so that an announced reset
 * does not wobble.
 */
export function createSystemClock(): Clock {
  // `performance` and `timeOrigin` are getters. Reading them in every `nowMs` would take a quarter
  // of its time.
  const { performance } = globalThis;
  const { timeOrigin } = performance;
  let offsetMs = 0;
  let checkedMs = Number.NEGATIVE_INFINITY;
  const nowMs = () => Math.floor(timeOrigin + performance.now());
  // Rare work is in separate functions, here and in memory/limiter.ts, so that V8 can inline the
  // common path. Shortening `charge` (memory/bucket-pool.ts) saved 4 to 8 % of the time of a
  // `take`.
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
