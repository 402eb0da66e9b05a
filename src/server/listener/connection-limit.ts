import { readFileSync } from 'node:fs';

/** Files that are not connections of clients: those of the data, the backends' connections, the log, and Node's own. */
const OTHER_FILES = 60;

/**
 * How many connections this process may have open; without a limit of the system as many as come. A process that can open
 * no more files does not reach its backends. A worker in that state loses what its primary deals out to it, and is never
 * dealt anything again.
 */
export function connectionLimit(): number {
  return Math.max(10, openFilesLimit() - OTHER_FILES);
}

/** Where the system does not say, there is none. */
export function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
