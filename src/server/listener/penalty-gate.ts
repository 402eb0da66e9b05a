import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';

/** How long an address is held back after it was penalised. */
const PENALTY_MS = 60_000;
/** Most addresses that are remembered for that. */
const MOST_ADDRESSES = 10_000;
/** From one connection of such addresses to the next, all of them together. */
const INTERVAL_MS = 200;

/**
 * Holds back new connections of addresses over their limit. Node.js parses all that a read brings before anything else has
 * its turn, and 64 KB of pipelined requests take 10 to 30 ms. So these connections are not read before their turn, which
 * leaves most of the processor to everybody else. Connections that are open already are not held back.
 */
export interface PenaltyGate {
  /** The address is over its limit. */
  penalise(address: string): void;
  /** Takes a new connection, which is read from now on or later. */
  enter(socket: Socket, address: string): void;
  /** Closes the connections that are held back, and holds back no more. */
  close(): void;
}

export function createPenaltyGate(): PenaltyGate {
  const penalised = new LRUCache<string, true>({ max: MOST_ADDRESSES, ttl: PENALTY_MS });
  const waiting = new Set<Socket>();
  let isBusy = false;
  let isClosed = false;

  function letNextIn(): void {
    isBusy = true;
    setTimeout(() => {
      const [socket] = waiting;
      isBusy = false;
      if (socket === undefined) return;
      waiting.delete(socket);
      socket.resume();
      letNextIn();
    }, INTERVAL_MS).unref();
  }

  return {
    penalise(address) {
      penalised.set(address, true);
    },

    enter(socket, address) {
      if (isClosed || !penalised.has(address)) return;
      if (!isBusy) {
        letNextIn();
        return;
      }
      waiting.add(socket);
      // Node.js has begun to read it, which takes effect in the next tick.
      process.nextTick(() => socket.pause());
      socket.once('close', () => waiting.delete(socket));
    },

    close() {
      isClosed = true;
      for (const socket of waiting) socket.destroy();
    },
  };
}
