import { uptime } from 'node:os';
import { type Clock, createSystemClock } from '../../limits/index.js';

/** The uptime of the machine has whole seconds. */
const RESOLUTION_MS = 1_000;

/**
 * Creates a clock for quotas that goes on while the machine is suspended. The clock of a process
 * stands still meanwhile, as it does not when somebody sets the system time. The uptime of the
 * machine tells the two apart. It is read only when the system time has jumped.
 */
export function createWakingClock(uptimeSeconds = uptime): Clock {
  const clock = createSystemClock();
  const unseenMs = () => uptimeSeconds() * 1_000 - performance.now();
  const unseenAtStartMs = unseenMs();
  let offsetMs = clock.utcOffsetMs();
  let suspendedMs = 0;

  function nowMs(): number {
    const processMs = clock.nowMs();
    const measuredMs = clock.utcOffsetMs(processMs);
    if (measuredMs !== offsetMs) {
      offsetMs = measuredMs;
      const totalMs = Math.round(unseenMs() - unseenAtStartMs);
      if (totalMs > suspendedMs + RESOLUTION_MS) suspendedMs = totalMs;
    }
    return processMs + suspendedMs;
  }

  return { nowMs, utcOffsetMs: (now = nowMs()) => clock.utcOffsetMs(now - suspendedMs) - suspendedMs };
}
