import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';

/** For this long after an address was over its limit, its new connections are held back. */
const PENALTY_MS = 60_000;
/** How many addresses can have a penalty at the same time. */
const MOST_ADDRESSES = 10_000;
/** How often one of the connections that are held back is released. The addresses take turns. */
const INTERVAL_MS = 200;

/**
 * Holds back new connections of addresses over their limit, and releases one at a time. Node.js
 * parses all data of one read without a break, and 64 KB of pipelined requests take 10 to 30 ms.
 * The time between two releases is left to other clients. Connections that are already open are not
 * held back.
 */
export interface PenaltyGate {
  /** Records that the address is over its limit. */
  penalise(address: string): void;
  /**
   * Lets Node.js read from a new connection. If its address has a penalty, the connection may be
   * held back first.
   */
  enter(socket: Socket, address: string): void;
  /** Closes the connections that are held back. Later connections are not held back. */
  close(): void;
}

export function createPenaltyGate(): PenaltyGate {
  const penalised = new LRUCache<string, true>({ max: MOST_ADDRESSES, ttl: PENALTY_MS });
  /** The connections that are held back, by address. The next release is for the first address. */
  const waiting = new Map<string, Set<Socket>>();
  let isBusy = false;
  let isClosed = false;

  function letNextIn(): void {
    isBusy = true;
    setTimeout(() => {
      const [next] = waiting;
      isBusy = false;
      if (next === undefined) return;
      const [address, sockets] = next;
      const [socket] = sockets;
      waiting.delete(address);
      if (sockets.size > 1) waiting.set(address, sockets);
      if (socket !== undefined) {
        sockets.delete(socket);
        socket.resume();
      }
      letNextIn();
    }, INTERVAL_MS).unref();
  }

  function hold(socket: Socket, address: string): void {
    const sockets = waiting.get(address) ?? new Set();
    waiting.set(address, sockets.add(socket));
    // Node.js has already queued a callback that begins to read and would undo a pause made now. So
    // the pause is queued after that callback.
    process.nextTick(() => socket.pause());
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0 && waiting.get(address) === sockets) waiting.delete(address);
    });
  }

  return {
    penalise(address) {
      penalised.set(address, true);
    },

    enter(socket, address) {
      if (isClosed || !penalised.has(address)) return;
      if (isBusy) hold(socket, address);
      else letNextIn();
    },

    close() {
      isClosed = true;
      for (const sockets of waiting.values()) for (const socket of sockets) socket.destroy();
    },
  };
}
