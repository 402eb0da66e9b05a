import { readFileSync } from 'node:fs';

/**
 * How many open files are reserved for everything but client connections: for the database,
 * connections to backends, the log, and files of Node.js.
 */
const RESERVED_FILES = 60;

/**
 * Returns how many client connections this process may have open, or infinity if the system sets no
 * limit. Each connection takes a file descriptor, and some descriptors must stay free. Without one,
 * a process cannot connect to its backends. A worker without one also loses a connection that its
 * primary hands to it, and then gets no more connections.
 */
export function connectionLimit(): number {
  return Math.max(10, openFilesLimit() - RESERVED_FILES);
}

/**
 * Returns how many files this process may have open, or infinity if the system reports no limit.
 */
function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
