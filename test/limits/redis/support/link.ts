import { connect, createServer, type Socket } from 'node:net';
import { listenOnFreePort } from '../../../support/listen.js';

export interface Link {
  readonly port: number;
  /** The port of the server. A change applies to new connections. */
  toPort: number;
  /** Returns the delay of the next bytes, in each direction. */
  delayMs: () => number;
  /** Resets all connections. */
  reset(): void;
  stop(): void;
}

/** Starts a proxy between clients and the server at `toPort`. */
export async function startLink(toPort: number): Promise<Link> {
  const sockets = new Set<Socket>();

  function pass(from: Socket, to: Socket): void {
    const queue: { readonly bytes: Buffer; readonly dueMs: number }[] = [];
    sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (bytes) => {
      queue.push({ bytes, dueMs: performance.now() + link.delayMs() });
      if (queue.length === 1) deliver();
    });
    // Delivers one piece after the other, because timers of different lengths may fire in any order.
    function deliver(): void {
      for (let next = queue[0]; next !== undefined; next = queue[0]) {
        const leftMs = next.dueMs - performance.now();
        if (leftMs > 0) {
          setTimeout(deliver, leftMs);
          return;
        }
        queue.shift();
        to.write(next.bytes);
      }
    }
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  }

  const server = createServer((client) => {
    const upstream = connect(link.toPort, '127.0.0.1');
    pass(client, upstream);
    pass(upstream, client);
  });

  const link: Link = {
    port: await listenOnFreePort(server),
    toPort,
    delayMs: () => 0,
    reset() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return link;
}
