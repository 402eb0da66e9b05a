import { readFileSync } from 'node:fs';

/** How many open files are kept for the database, backends, the log, and Node.js itself. */
const RESERVED_FILES = 60;
/** With room for fewer connections, a server would close those of its customers all the time. */
const FEWEST_CONNECTIONS = 16;

/**
 * Returns how many client connections this process may have open, or infinity if the system sets no
 * limit. Without a free descriptor, a process cannot connect to its backends, and a worker gets no
 * more connections from its primary. Throws a RangeError if the limit leaves no room for clients.
 */
export function connectionLimit(): number {
  const files = fileLimit();
  const fewest = RESERVED_FILES + FEWEST_CONNECTIONS;
  if (files >= fewest) return files - RESERVED_FILES;
  throw new RangeError(
    `this process may have only ${files} files open, and each connection needs one; allow at least ${fewest} (ulimit -n, LimitNOFILE of systemd)`,
  );
}

function fileLimit(): number {
  try {
    const [, files] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return Number(files ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
