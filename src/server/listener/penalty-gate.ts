import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';

/** How long an address is held back after a penalty. */
const PENALTY_MS = 60_000;
/** Most addresses with a penalty at a time. */
const MOST_ADDRESSES = 10_000;
/** The interval between new connections of all such addresses together. */
const INTERVAL_MS = 200;

/**
 * Holds back new connections of addresses over their limit. Node.js parses everything that a read
 * returns before anything else gets a turn, and 64 KB of pipelined requests take 10 to 30 ms. These
 * connections are read only when their turn comes, which leaves most of the processor to all
 * others. Connections that are already open are not held back.
 */
export interface PenaltyGate {
  /** Records that the address is over its limit. */
  penalise(address: string): void;
  /** Accepts a new connection, which is read from now on or later. */
  enter(socket: Socket, address: string): void;
  /** Closes the connections that are held back, and stops holding back others. */
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
      // Node.js has already begun to read. Pausing takes effect in the next tick.
      process.nextTick(() => socket.pause());
      socket.once('close', () => waiting.delete(socket));
    },

    close() {
      isClosed = true;
      for (const socket of waiting) socket.destroy();
    },
  };
}
