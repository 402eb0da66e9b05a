import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Starts a server on a port of the loopback interface, by default on a free one. Returns the port. */
export async function listenOnFreePort(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server listens on no port');
  return address.port;
}

/**
 * Returns a port on which nothing listens. Systems use no port of its range for outgoing connections, so
 * it stays free beside tests that open thousands of them.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    try {
      const port = await listenOnFreePort(server, randomInt(11_000, 16_000));
      server.close();
      await once(server, 'close');
      return port;
    } catch (error) {
      if (Object(error).code !== 'EADDRINUSE') throw error;
    }
  }
}
