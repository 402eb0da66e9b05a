/**
 * All that this package uses of `node:http` beyond what its documentation promises. Each function
 * was checked on Node.js 20.20, 22.23, 24.21 and 26.10, and names the test that
 * fails where its part of Node.js is missing.
 */
import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
// This import is necessary, because tests with fake timers replace the global `setImmediate`.
import { setImmediate } from 'node:timers';

/**
 * Makes a server accept requests without Host, and clients that have closed their sending half.
 * Node.js reads both options for each new connection. Test: `node-server.test.ts`, requests before
 * a FIN, and `REFUSED`.
 */
export function acceptUnusual(server: Server): void {
  Object.assign(server, { requireHostHeader: false, httpAllowHalfOpen: true });
}

/** How many requests of one connection can wait for earlier responses. */
const MAX_WAITING = 16;

const WAITING = Symbol('responses that wait');

interface Connection extends Socket {
  [WAITING]?: Set<ServerResponse>;
}

/**
 * Queues a response that has to wait for earlier ones of its connection. Returns whether the
 * response waits, and calls `start` when its turn comes. If sixteen responses wait, the sixteenth is
 * the last of its connection, and nothing after its request is read. A client should then send the
 * unanswered requests again (RFC 9112 §9.3.2). Node.js gives the socket to a response when no earlier
 * one is left, but keeps no list of those that wait. Test: `pipelining.test.ts`.
 */
export function enqueue(response: unknown, start?: () => void): boolean {
  // HTTP/2 responses and emulations of node:http never wait.
  if (!(response instanceof ServerResponse) || response.socket !== null) return false;
  const socket: Connection = response.req.socket;
  socket[WAITING] ??= createWaiting(socket);
  const waiting = socket[WAITING];
  waiting.add(response);
  if (socket.destroyed) closeWaiting(response);
  // Node.js passes on the socket in the context of the response that has ended.
  const begin = start && AsyncResource.bind(start);
  response.once('socket', () => {
    waiting.delete(response);
    // One request of a connection in each pass of the event loop leaves time for the others.
    if (begin !== undefined) setImmediate(begin);
  });
  if (waiting.size >= MAX_WAITING) {
    makeLast(response);
    stopReading(socket);
  }
  return true;
}

function createWaiting(socket: Socket): Set<ServerResponse> {
  const waiting = new Set<ServerResponse>();
  socket.once('close', () => waiting.forEach(closeWaiting));
  return waiting;
}

/**
 * Closes a response that waits, as Node.js closes the response that it is sending. Otherwise a list
 * that waits would never end, and its store would hold the snapshot forever.
 */
function closeWaiting(response: ServerResponse): void {
  Reflect.set(response.destroy(), '_closed', true);
  response.emit('close');
}

/**
 * Makes Node.js close the connection after a response whose head is not sent yet. Test:
 * `pipelining.test.ts`, seventeen requests.
 */
export function makeLast(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

/**
 * Returns the response in progress, from the property that Node's own listener reads too. Test:
 * `node-server.test.ts`, requests before malformed bytes.
 */
export function responseInProgress(socket: Duplex): ServerResponse | undefined {
  const response: unknown = Reflect.get(socket, '_httpMessage');
  return response instanceof ServerResponse ? response : undefined;
}

/**
 * Handles the events of a socket on which Node.js has read a CONNECT. Node.js no longer does, but a
 * response that began before depends on them. Test: `late-errors.test.ts`, a list and a CONNECT.
 */
export function handleEvents(socket: Duplex): void {
  socket.on('error', () => {});
  socket.on('timeout', () => socket.destroy());
  socket.on('drain', () => responseInProgress(socket)?.emit('drain'));
}

/** The mark of the object by which {@link onClientError} replaces the server of a socket. */
const LISTENING = Symbol('listens for errors');

/**
 * Calls `handle` at an error of a connection, such as malformed bytes, unless the host listens for
 * `clientError`. If the result is `false`, Node.js responds and closes the connection, as it does
 * by default. It emits the event on the property `server` of the socket. Test:
 * `node-server.test.ts`, without attach.
 */
export function onClientError(socket: Socket, handle: (socket: Socket) => boolean): void {
  const server: unknown = Reflect.get(socket, 'server');
  // A tracer replaces `emit` of the host's server too.
  if (!(server instanceof EventEmitter) || Object.hasOwn(server, LISTENING)) return;
  const emit = (event: string, ...values: readonly unknown[]): boolean =>
    server.emit(event, ...values) || (event === 'clientError' && handle(socket));
  Reflect.set(socket, 'server', Object.create(server, { emit: { value: emit }, [LISTENING]: {} }));
}

/** The result of `onIncoming` after which the parser ignores the rest of the bytes that it has. */
const IGNORE_REST = 2;

/**
 * Stops reading requests from a connection whose last response is known. Otherwise Node.js would
 * parse all bytes that it has already read: up to 3,600 requests, which take 20 ms and megabytes.
 * `onIncoming` is the parser's callback for a request. Node.js resumes the socket after each
 * response, and calls `destroySoon` after the last. Test: `pipelining.test.ts`, seventeen requests,
 * and forty requests.
 */
export function stopReading(socket: Duplex): void {
  const parser: unknown = Reflect.get(socket, 'parser');
  if (typeof parser === 'object' && parser !== null) Reflect.set(parser, 'onIncoming', () => IGNORE_REST);
  // It may have been stopped before, and `closeGently` removes one listener.
  socket.off('resume', pause).on('resume', pause).pause();
  Object.assign(socket, { destroySoon: () => closeGently(socket) });
}

function pause(this: Duplex): void {
  this.pause();
}

/** How long a connection is still read after its last response. */
const LINGER_MS = 2_000;
/** More bytes are a flood, and reading them only to drop them would cost a buffer for each read. */
const MAX_LINGER_BYTES = 16_384;

/**
 * Ends a connection, perhaps with a last text, and drops what the client still sends until it ends
 * its side too, for two seconds and 16 KB at most. If unread bytes were left, the system would reset
 * the connection, and the client could lose responses that it has not read yet (RFC 9112 §9.6).
 * Node.js reads again at `resume`, and a listener for `data` takes the bytes away from its parser.
 * Test: `late-errors.test.ts`, without attach.
 */
export function closeGently(socket: Duplex & { readonly bytesRead?: number }, last?: string): void {
  const { bytesRead: alreadyRead = 0 } = socket;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.end(last, 'latin1');
  socket.off('resume', pause).pause();
  socket.once('resume', () => {
    socket.removeAllListeners('data').on('data', () => {
      if ((socket.bytesRead ?? 0) - alreadyRead > MAX_LINGER_BYTES) socket.destroy();
    });
  });
  socket.resume();
}
