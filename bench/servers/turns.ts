import { existsSync, openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Figures of the event loop since the last time that they were reported. */
export interface Turns {
  /** Processor time of the main thread. */
  readonly usedMs: number;
  /** The most processor time of one turn. Other work on the machine hardly affects it. */
  readonly busyMs: number;
  /** The longest stall, by the clock. */
  readonly stalledMs: number;
}

/** Returns a function that reports the figures. It watches from its first call on. */
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
  // Makes the system account for the time up to now.
  process.cpuUsage();
  return Number.parseInt(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)), 10) / 1e6;
}
