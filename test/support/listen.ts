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
 * Returns a port on which nothing listens, and which no other test gets until this process ends: the port
 * 5,000 above is held as long. Systems use no port of either range for outgoing connections, so it stays
 * free beside tests that open thousands of them.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const [server, held] = [createServer(), createServer()];
    try {
      const port = await listenOnFreePort(server, randomInt(11_000, 16_000));
      await listenOnFreePort(held.unref(), port + 5_000);
      return port;
    } catch (error) {
      if (Object(error).code !== 'EADDRINUSE') throw error;
    } finally {
      if (server.listening) {
        server.close();
        await once(server, 'close');
      }
    }
  }
}
