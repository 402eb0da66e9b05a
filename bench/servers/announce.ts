import type { Server } from 'node:net';

/**
 * Reports to the parent where the server listens, and replies to each of its messages. Exits with
 * its parent.
 */
export function announce(server: Server, answer: (message: unknown) => unknown = refilling()): void {
  const tell = () => process.send?.(server.address());
  if (server.listening) tell();
  else server.once('listening', tell);
  process.on('message', (message) => process.send?.(answer(message)));
  process.once('disconnect', () => process.exit());
}

/**
 * Makes the orders pending again, and collects the garbage that this leaves, so that no request
 * pays for it.
 */
export function refilling(refill = () => {}): () => string {
  return () => {
    refill();
    globalThis.gc?.();
    return 'refilled';
  };
}
