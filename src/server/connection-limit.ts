import { readFileSync } from 'node:fs';

/** How many open files are kept for the database, backends, the log, and Node.js itself. */
const RESERVED_FILES = 60;

/**
 * Returns how many client connections this process may have open, or infinity if the system sets no
 * limit. Without a free descriptor, a process cannot connect to its backends, and a worker gets no
 * more connections from its primary.
 */
export function connectionLimit(): number {
  try {
    const [, files] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return Number(files ?? Number.POSITIVE_INFINITY) - RESERVED_FILES;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
