import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';

/**
 * How many requests of one connection can wait for earlier responses. When more arrive, the service
 * stops reading from the connection.
 */
const MOST_WAITING = 16;

/**
 * How many requests beyond `MOST_WAITING` can wait, on all connections together. A connection can
 * exceed `MOST_WAITING`, because Node.js still delivers the requests that it has already read, up
 * to 64 KiB. Each waiting request takes 1.6 kB of memory. A connection whose next request would
 * exceed this number is closed.
 */
const MOST_EXTRA = 4_096;

interface Queue {
  readonly socket: Socket;
  waiting: number;
  isPaused: boolean;
}

const queues = new WeakMap<Socket, Queue>();
let extra = 0;

/**
 * Wraps a listener so that it handles the requests of one connection one after another, each after
 * the earlier responses have been sent (RFC 9112 §9.3.2). If an earlier response has closed the
 * connection, later requests are not carried out.
 */
export function inTurn<
  Request extends IncomingMessage | Http2ServerRequest,
  Response extends ServerResponse | Http2ServerResponse,
  Rest extends unknown[],
>(
  listener: (request: Request, response: Response, ...rest: Rest) => void | Promise<void>,
): (request: Request, response: Response, ...rest: Rest) => void | Promise<void> {
  function call(request: Request, response: Response, ...rest: Rest): void | Promise<void> {
    // HTTP/2 requests are exempt: their `socket.writable` is that of the stream, and the stream of
    // a HEAD request is never writable.
    if (request.socket?.writable === false && !('stream' in request)) return;
    return listener(request, response, ...rest);
  }

  return (request, response, ...rest) => {
    // If a response already has its socket, all earlier responses of the connection have been sent.
    // HTTP/2 responses and emulations of node:http never wait here.
    if (response.socket !== null || !(response instanceof ServerResponse)) {
      return call(request, response, ...rest);
    }
    const queue = queues.get(request.socket) ?? createQueue(request.socket);
    if (!enter(queue)) return;
    response.once('socket', () => {
      leave(queue);
      process.nextTick(call, request, response, ...rest);
    });
  };
}

function createQueue(socket: Socket): Queue {
  const queue = { socket, waiting: 0, isPaused: false };
  queues.set(socket, queue);
  socket.once('close', () => {
    extra -= Math.max(0, queue.waiting - MOST_WAITING);
  });
  // Node.js resumes the socket after each response, so the socket must be paused again.
  socket.on('resume', () => queue.isPaused && socket.pause());
  return queue;
}

/** Adds one request to the queue. Returns `false` if the connection is closed. */
function enter(queue: Queue): boolean {
  const { socket } = queue;
  if (socket.destroyed) return false;
  if (queue.waiting >= MOST_WAITING) {
    if (extra === MOST_EXTRA) {
      socket.destroy();
      return false;
    }
    extra++;
    queue.isPaused = true;
    socket.pause();
  }
  queue.waiting++;
  return true;
}

function leave(queue: Queue): void {
  if (queue.waiting > MOST_WAITING) extra--;
  queue.waiting--;
  if (queue.waiting > 0 || !queue.isPaused) return;
  queue.isPaused = false;
  queue.socket.resume();
}
