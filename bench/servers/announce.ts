import type { Server } from 'node:net';

/**
 * Reports to the parent process where the server listens, and replies to each of the parent's
 * messages. Exits when the parent exits.
 */
export function announce(server: Server, answer: (message: unknown) => unknown = refilling()): void {
  const tell = () => process.send?.(server.address());
  if (server.listening) tell();
  else server.once('listening', tell);
  process.on('message', (message) => process.send?.(answer(message)));
  process.once('disconnect', () => process.exit());
}

/**
 * Returns a function that calls `refill` to make the orders pending again. The function also
 * collects the garbage, so that this does not happen during a measured request.
 */
export function refilling(refill = () => {}): () => string {
  return () => {
    refill();
    globalThis.gc?.();
    return 'refilled';
  };
}
