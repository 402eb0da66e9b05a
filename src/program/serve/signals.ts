import { constants } from 'node:os';

/** SIGHUP comes when a terminal is closed. */
export const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * A signal that follows the first within this time is a repetition of it. Under npm one Ctrl-C
 * arrives twice: the terminal signals the whole process group, and npm also passes the signal on.
 */
const ECHO_MS = 100;

/**
 * Resolves at the first of these signals. A signal more than {@link ECHO_MS} later calls `beforeEnd`
 * and ends the process immediately, without the event `exit`.
 */
export function firstSignal(beforeEnd = (): void => {}): Promise<NodeJS.Signals> {
  let firstMs: number | undefined;
  return new Promise((resolve) => {
    function onSignal(signal: NodeJS.Signals): void {
      const nowMs = performance.now();
      firstMs ??= nowMs;
      resolve(signal);
      if (nowMs - firstMs <= ECHO_MS) return;
      beforeEnd();
      // `process.exit` alone would first stop the threads of SQLite, one of which may wait for a disk.
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
      // Process 1 of a container ignores a signal without a handler.
      process.exit(128 + constants.signals[signal]);
    }
    for (const signal of SIGNALS) process.on(signal, onSignal);
  });
}
