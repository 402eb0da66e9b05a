import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const CHECK_MS = 10_000;
/** After this many checks without progress, a client has read nothing for 30 s. */
const MOST_UNCHANGED = 3;

interface Watch {
  readonly socket: Socket;
  /** The client's progress as of the last check. */
  seen: string;
  unchanged: number;
}

const watches = new Map<ServerResponse, Watch>();
let timer: NodeJS.Timeout | undefined;

/**
 * Closes the connection if its client reads none of the waiting data for 30 s. Where the system
 * does not report what the client has acknowledged, the limit is 60 s. The client is checked every
 * 10 s, and any progress restarts the time. The checks end when everything is sent, or when the
 * returned function is called.
 */
export function dropIfSilent(response: ServerResponse): () => void {
  const { socket } = response;
  if (socket === null || response.writableLength === 0) return () => {};
  function stop(): void {
    response.off('finish', stop).off('close', stop);
    watches.delete(response);
    if (watches.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }
  response.on('finish', stop).on('close', stop);
  watches.set(response, { socket, seen: '', unchanged: 0 });
  timer ??= setInterval(check, CHECK_MS);
  timer.unref();
  return stop;
}

async function check(): Promise<void> {
  const unacknowledged = await unacknowledgedBytes();
  for (const [response, watch] of watches) {
    const { socket } = watch;
    const bytes = unacknowledged.get(`${socket.localPort} ${socket.remotePort}`);
    const seen = `${socket.bytesWritten - socket.writableLength} ${bytes}`;
    watch.unchanged = seen === watch.seen ? watch.unchanged + 1 : 0;
    watch.seen = seen;
    if (watch.unchanged >= (bytes === undefined ? 2 * MOST_UNCHANGED : MOST_UNCHANGED)) response.destroy();
  }
}

/**
 * Matches a line of `/proc/net/tcp`: both ports, the state and the number of unacknowledged bytes,
 * all hexadecimal.
 */
const CONNECTION = /:(\w{4}) \w+:(\w{4}) \w\w (\w{8}):/g;

/**
 * Returns how many bytes each client's system has not acknowledged, as hexadecimal text. The keys
 * are the ports of both ends. Only Linux publishes these numbers. On other systems, progress is
 * visible only when the system accepts more data from Node.js, a megabyte or more at a time. A
 * client that reads 20 kB/s takes a minute for a megabyte.
 */
async function unacknowledgedBytes(): Promise<ReadonlyMap<string, string>> {
  const bytes = new Map<string, string>();
  for (const file of ['tcp', 'tcp6']) {
    const text = await readFile(`/proc/self/net/${file}`, 'latin1').catch(() => '');
    for (const [, local, remote, unacknowledged = ''] of text.matchAll(CONNECTION)) {
      const ports = `${Number(`0x${local}`)} ${Number(`0x${remote}`)}`;
      // Two clients with different addresses may use the same port. Then the progress of either
      // counts for both.
      bytes.set(ports, (bytes.get(ports) ?? '') + unacknowledged);
    }
  }
  return bytes;
}
