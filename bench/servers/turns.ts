import { existsSync, openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Measurements of the event loop since the previous report. */
export interface Turns {
  /** The processor time of the main thread. */
  readonly usedMs: number;
  /**
   * The most processor time that one pass of the event loop has used. Other programs on the machine
   * hardly affect this figure.
   */
  readonly busyMs: number;
  /** The longest time, by the clock, for which the event loop did not run. */
  readonly stalledMs: number;
}

/**
 * Returns a function that reports these figures. The first call of that function starts the
 * measurement.
 */
export function createTurnWatch(): () => Turns {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let isWatching = false;
  let startMs = 0;
  let busyMs = 0;

  function watch(): void {
    let beforeMs = usedMs();
    setInterval(() => {
      const nowMs = usedMs();
      busyMs = Math.max(busyMs, nowMs - beforeMs);
      beforeMs = nowMs;
    }, 1);
  }

  return () => {
    const turns = { usedMs: usedMs() - startMs, busyMs, stalledMs: delay.max / 1e6 };
    if (!isWatching) watch();
    isWatching = true;
    delay.reset();
    delay.enable();
    busyMs = 0;
    startMs = usedMs();
    return turns;
  };
}

const schedstat = `/proc/self/task/${process.pid}/schedstat`;
const file = existsSync(schedstat) ? openSync(schedstat, 'r') : undefined;
const text = Buffer.alloc(128);

/** Returns the processor time of the main thread. `NaN` if the system does not report it. */
function usedMs(): number {
  if (file === undefined) return Number.NaN;
  // Makes the system update the processor time in `schedstat`.
  process.cpuUsage();
  return Number.parseInt(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)), 10) / 1e6;
}
