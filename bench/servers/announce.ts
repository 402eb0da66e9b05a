import type { Server } from 'node:net';

/**
 * Tells the parent where the server listens; at each message from it, `refill` makes the orders pending again. Ends with
 * its parent.
 */
export function announce(server: Server, refill = () => {}): void {
  const tell = () => process.send?.(server.address());
  if (server.listening) tell();
  else server.once('listening', tell);
  process.on('message', () => {
    refill();
    // Its garbage is nothing that a request leaves.
    globalThis.gc?.();
    process.send?.('refilled');
  });
  process.once('disconnect', () => process.exit());
}
