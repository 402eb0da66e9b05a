import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
// This import is necessary, because tests with fake timers replace the global `setImmediate`.
import { setImmediate } from 'node:timers';

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
    socket.once('close', () => waiting.forEach(close));
    return waiting;
  }

  return (response, start) => {
    // HTTP/2 responses and emulations of node:http never wait here.
    if (!(response instanceof ServerResponse) || response.socket !== null) return false;
    const { socket } = response.req;
    const waiting = waitingOf.get(socket) ?? createWaiting(socket);
    waiting.add(response);
    if (socket.destroyed) close(response);
    response.once('socket', () => {
      waiting.delete(response);
      // One request of a connection in each pass of the event loop leaves time for the others.
      if (start !== undefined) setImmediate(start);
    });
    if (waiting.size >= MAX_WAITING) {
      response.shouldKeepAlive = false;
      stopReading(socket);
    }
    return true;
  };
}

/**
 * Closes a response that waits, as Node.js closes the response that it is sending. Otherwise a list
 * that waits would never end, and its store would hold the snapshot forever.
 */
function close(response: ServerResponse): void {
  Reflect.set(response.destroy(), '_closed', true);
  response.emit('close');
}

/** The result of `onIncoming` after which the parser ignores the rest of the bytes that it has. */
const IGNORE_REST = 2;

/**
 * Stops reading requests from a connection whose last response is known. Otherwise Node.js would
 * parse all bytes that it has already read: up to 3,600 requests, which take 20 ms and megabytes.
 * No public method prevents this. `onIncoming` is the parser's private callback for a request.
 */
export function stopReading(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, 'parser');
  if (typeof parser === 'object' && parser !== null) Reflect.set(parser, 'onIncoming', () => IGNORE_REST);
  // Node.js resumes the socket after each response.
  socket.on('resume', () => socket.pause()).pause();
}
