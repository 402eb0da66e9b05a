import type { IncomingMessage, ServerResponse } from 'node:http';
import { socketAddress } from './client-address.js';
import type { Reply } from './reply.js';
import type { RequestHead } from './request-head.js';
import type { OrderService } from './service.js';
import { dropIfSilent, writePieces } from './write-pieces.js';

export interface NodeMountOptions {
  /** The client's address, by which requests without a valid key are limited. Default: the connection's peer. */
  readonly clientAddress?: ((request: IncomingMessage) => string | undefined) | undefined;
}

/** A listener for `node:http`, and, with `next`, a middleware for Express and Connect: foreign paths are passed on. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

/**
 * Mounts the service in any server that speaks node:http. Headers that the host has set stay. Create the server with
 * `requireHostHeader: false`: a request without Host is then answered 400 here, with the limit fields and not without.
 * On Node 20 set its `maxHeadersCount = 0` too: else Node drops the fields after the 1,000th without a word, and a second
 * credential may hide there. The limit on their size stays.
 */
export function nodeHandler(service: OrderService, options: NodeMountOptions = {}): NodeHandler {
  const { clientAddress = socketAddress } = options;

  function answer(head: RequestHead, request: IncomingMessage, response: ServerResponse): void {
    // What cannot be answered is not done: the answer before may have closed the connection (RFC 9112 §9.6).
    if (request.socket.writable === false) return;
    const reply = service.respond(head, () => clientAddress(request));
    if (reply instanceof Promise) reply.then((settled) => send(response, settled));
    else send(response, reply);
  }

  return (request, response, next) => {
    const head = originalHead(request);
    if (next !== undefined && !service.owns(head.url ?? '')) next();
    else if (response.socket !== null) answer(head, request, response);
    // Sent without waiting for the answer before: it has its turn after that (RFC 9112 §9.3.2).
    else response.once('socket', () => process.nextTick(answer, head, request, response));
  };
}

/** Connect and Express cut their mount path off `url` and keep the whole in `originalUrl`. */
function originalHead(request: IncomingMessage): RequestHead {
  if (!('originalUrl' in request) || typeof request.originalUrl !== 'string') return request;
  const { method, originalUrl: url, rawHeaders, httpVersion } = request;
  return { method, url, rawHeaders, httpVersion };
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  const pieces = typeof body === 'object' && Symbol.asyncIterator in body ? body : undefined;
  if (response.destroyed || response.headersSent) {
    // The client has hung up, or the host has answered in the meantime. The store's work ends.
    pieces?.[Symbol.asyncIterator]()
      .return?.()
      .then(undefined, () => {});
    return;
  }
  response.writeHead(status, response.hasHeader('Vary') ? withVary(headers, response.getHeader('Vary')) : headers);
  if (pieces !== undefined) writePieces(response, pieces);
  else {
    if (typeof body === 'string') response.end(body, 'latin1');
    else response.end(body);
    if (response.writableLength > 0) dropIfSilent(response);
  }
}

/** A host's answers may vary by more than the service knows (RFC 9110 §12.5.5). */
function withVary(headers: readonly string[], vary: string | number | readonly string[] | undefined): string[] {
  return headers.map((value, index) =>
    index % 2 === 1 && headers[index - 1] === 'Vary' ? `${vary}, ${value}` : value,
  );
}
