import type { Server } from 'node:net';

/** Tells the parent where the server listens, and gives it an answer to each of its messages. Ends with its parent. */
export function announce(server: Server, answer: () => unknown = refilling()): void {
  const tell = () => process.send?.(server.address());
  if (server.listening) tell();
  else server.once('listening', tell);
  process.on('message', () => process.send?.(answer()));
  process.once('disconnect', () => process.exit());
}

/** Makes the orders pending again. Its garbage is nothing that a request leaves. */
export function refilling(refill = () => {}): () => string {
  return () => {
    refill();
    globalThis.gc?.();
    return 'refilled';
  };
}
