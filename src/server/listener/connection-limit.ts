import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';

/** Files that are no client's connection: those of the data, the backends' connections, the log, and Node's own. */
const OTHER_FILES = 60;

/**
 * Closes at once each connection beyond what this process may open. A worker that can open no more loses what its primary
 * deals out to it, and is never dealt anything again; a server that can open no more does not reach its backends.
 */
export function boundConnections(server: Server): void {
  const most = Math.max(10, openFilesLimit() - OTHER_FILES);
  let open = 0;
  server.on('connection', (socket) => {
    open++;
    socket.once('close', () => open--);
    if (open > most) socket.destroy();
  });
}

/** Where the system does not say, there is none. */
function openFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
