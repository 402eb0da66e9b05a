import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
// This import is necessary, because tests with fake timers replace the global `setImmediate`.
import { setImmediate } from 'node:timers';
import { closeWaiting, isWaiting, makeLast, onTurn, stopReading } from './node-internals.js';

/** How many requests of one connection can wait for earlier responses. */
const MAX_WAITING = 16;

/**
 * Creates a function that queues a response which has to wait for earlier ones of its connection.
 * The function returns whether the response waits, and calls `start` when its turn comes. If
 * sixteen responses wait, the sixteenth is the last of its connection, and nothing after its request
 * is read. A client should then send the unanswered requests again (RFC 9112 §9.3.2).
 */
export function createResponseQueue(): (response: unknown, start?: () => void) => boolean {
  const waitingOf = new WeakMap<Socket, Set<ServerResponse>>();

  function createWaiting(socket: Socket): Set<ServerResponse> {
    const waiting = new Set<ServerResponse>();
    waitingOf.set(socket, waiting);
    socket.once('close', () => waiting.forEach(closeWaiting));
    return waiting;
  }

  return (response, start) => {
    if (!isWaiting(response)) return false;
    const { socket } = response.req;
    const waiting = waitingOf.get(socket) ?? createWaiting(socket);
    waiting.add(response);
    if (socket.destroyed) closeWaiting(response);
    onTurn(response, () => {
      waiting.delete(response);
      // One request of a connection in each pass of the event loop leaves time for the others.
      if (start !== undefined) setImmediate(start);
    });
    if (waiting.size >= MAX_WAITING) {
      makeLast(response);
      stopReading(socket);
    }
    return true;
  };
}
