import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { socketAddress } from './client-address.js';
import type { Reply } from './reply.js';
import type { OrderService } from './service.js';

export interface NodeMountOptions {
  /** The client's address, by which requests without a valid key are limited. Default: the connection's peer. */
  readonly clientAddress?: (request: IncomingMessage) => string | undefined;
}

/** A listener for `node:http`, and, with `next`, a middleware for Express and Connect: foreign paths are passed on. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

/** Mounts the service in any server that speaks node:http. Headers that the host has set stay. */
export function nodeHandler(service: OrderService, options: NodeMountOptions = {}): NodeHandler {
  const { clientAddress = socketAddress } = options;
  return (request, response, next) => {
    const head = originalHead(request);
    if (next !== undefined && !service.owns(head.url ?? '')) return next();
    const reply = service.respond(head, clientAddress(request));
    if (reply instanceof Promise) reply.then((settled) => send(response, settled));
    else send(response, reply);
  };
}

/** Connect and Express cut their mount path off `url` and keep the whole in `originalUrl`. */
function originalHead(request: IncomingMessage) {
  if (!('originalUrl' in request) || typeof request.originalUrl !== 'string') return request;
  return { method: request.method, url: request.originalUrl, rawHeaders: request.rawHeaders };
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  if (typeof body === 'object' && Symbol.asyncIterator in body) {
    response.writeHead(status, headers);
    // A store that fails midway ends the connection, so that nobody takes the torso for the whole.
    pipeline(Readable.from(body), response, () => {});
    return;
  }
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, headers);
  if (typeof body === 'string') response.end(body, 'latin1');
  else response.end(body);
}
