import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';

/** How long an address is over its limit for the gate, after each refusal. */
const PENALTY_MS = 10_000;
/** Most addresses that are remembered so. */
const MOST_ADDRESSES = 10_000;
/** From one connection of such addresses to the next, all together. Reading one may take 30 ms. */
const LATE_MS = 150;

/**
 * Decides when a new connection is read for the first time. Node.js parses all that has arrived of a connection before
 * anything else has its turn: 64 KB of pipelined requests take 10 to 30 ms. So one new connection is read in a turn of the
 * event loop, and those of addresses over their limit one in {@link LATE_MS}. Connections that are open are not held back.
 */
export interface Gate {
  enter(socket: Socket, address: string): void;
  /** The address is over its limit. */
  penalise(address: string): void;
  /** Holds back nothing any more. */
  open(): void;
}

export function createGate(): Gate {
  const penalised = new LRUCache<string, true>({ max: MOST_ADDRESSES, ttl: PENALTY_MS });
  const early = createLine(nextTurn);
  const late = createLine((next) => void setTimeout(next, LATE_MS).unref());
  let isOpen = false;

  return {
    enter(socket, address) {
      if (!isOpen) (penalised.has(address) ? late : early).enter(socket);
    },
    penalise(address) {
      penalised.set(address, true);
    },
    open() {
      isOpen = true;
      early.open();
      late.open();
    },
  };
}

/** Lets one socket pass, and the next one when `pause` calls back. */
function createLine(pause: (next: () => void) => void) {
  const waiting = new Set<Socket>();
  let isFree = true;

  function next(): void {
    isFree = true;
    for (const socket of waiting) {
      waiting.delete(socket);
      socket.resume();
      hold();
      return;
    }
  }

  function hold(): void {
    isFree = false;
    pause(next);
  }

  return {
    enter(socket: Socket): void {
      if (isFree) {
        hold();
        return;
      }
      waiting.add(socket.pause());
      socket.once('close', () => waiting.delete(socket));
    },
    open(): void {
      for (const socket of waiting) socket.resume();
      waiting.clear();
    },
  };
}

/** What is accepted in one turn is read in the next. */
function nextTurn(next: () => void): void {
  setImmediate(() => setImmediate(next));
}
