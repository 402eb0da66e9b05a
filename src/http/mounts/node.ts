import { IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { checkFields, checkFunction } from '../../check.js';
import { after } from '../maybe-promise.js';
import type { Reply } from '../reply.js';
import { type RequestHead, withTarget } from '../request.js';
import { checkService, type OrderService } from '../service/service.js';
import { enqueue } from './node-internals.js';
import { send } from './node-reply.js';
import { attachTo, respondBeforeErrors } from './node-server.js';
import { createFrameworkAddress, createPrefixWarning } from './warnings.js';

/** A request of node:http, https or http2. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
type HttpResponse = ServerResponse | Http2ServerResponse;

export interface NodeMountOptions {
  /**
   * Returns the client's address, by which requests without a valid key are limited. Default:
   * `request.ip`, which in Express follows `trust proxy`, or else the address of the connection's
   * peer.
   */
  readonly clientAddress?: ((request: NodeRequest) => string | undefined) | undefined;
  /** Called with each reply before it is sent, for example to count who was charged. */
  readonly onReply?: ((request: NodeRequest, reply: Reply) => void) | undefined;
}

/**
 * A listener for `node:http`, `https` and `http2`. If it is called with `next`, it acts as a
 * middleware for Express and Connect, and passes requests for other paths to `next`.
 */
export interface NodeHandler {
  /** Without `next`, returns a promise if the reply comes later. Some hosts wait for it. */
  (request: NodeRequest, response: HttpResponse, next?: () => void): void | Promise<void>;
  /**
   * Prepares and returns the `node:http` or `https` server in which the handler is mounted. Without
   * `attach`, Node.js or the host's listener for `clientError` responds to malformed requests, and
   * Node.js to `CONNECT`, unknown methods, and requests with an `Expect` field or without a `Host`
   * field. A client that has closed its sending half of the connection then gets only what is sent at
   * once. With `attach`, the service responds to all of them, so every error response has the API's
   * JSON body and the rate-limit fields. Malformed bytes after a request whose response is pending
   * get no response and are not counted: they close the connection after that response. Throws a
   * TypeError if another handler is attached to the server.
   */
  attach<S extends Server>(server: S): S;
}

/**
 * Creates a handler that mounts the service in any server compatible with node:http. Headers that
 * the host has already set are kept, unless the reply has a field of that name, as errors have
 * `Cache-Control`. That of a list gives way to the host's.
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { nodeHandler } from 'store-orders';
 * import { createTestService } from 'store-orders/testing';
 *
 * const { service } = createTestService(); // in production: createOrderService
 * const handler = nodeHandler(service);
 * const server = handler.attach(createServer(handler));
 * ```
 */
export function nodeHandler(service: OrderService, options: NodeMountOptions = {}): NodeHandler {
  checkService(service, ['respond', 'refuse', 'owns']);
  checkFields('options', options, ['clientAddress', 'onReply']);
  const { clientAddress = createFrameworkAddress(), onReply } = options;
  checkFunction('clientAddress', clientAddress);
  if (onReply !== undefined) checkFunction('onReply', onReply);
  const warnOfPrefix = createPrefixWarning(service);

  function respond(request: NodeRequest, response: HttpResponse, head: RequestHead): void | Promise<void> {
    // An earlier response has closed the connection. In HTTP/2, `socket.writable` is that of the
    // stream, and the stream of a HEAD request is never writable.
    if (request.socket?.writable === false && !('stream' in request)) return;
    respondBeforeErrors(response);
    if (enqueue(response, () => respond(request, response, head))) return;
    return after(
      service.respond(head, () => clientAddress(request)),
      (reply) => {
        onReply?.(request, reply);
        return send(response, reply);
      },
    );
  }

  // Hosts recognise a middleware by the number of its parameters, which is three.
  const handle = (request: NodeRequest, response: HttpResponse, next?: () => void): void | Promise<void> => {
    const head = originalHead(request);
    if (next === undefined) return respond(request, response, head);
    // Nothing is returned, because restify treats a returned promise as a call of `next`.
    const { url = '' } = head;
    if (service.owns(url)) {
      respond(request, response, head);
      return;
    }
    warnOfPrefix(url, request.url ?? '');
    next();
  };
  const attachable = { service, clientAddress };
  return Object.assign(handle, { attach: <S extends Server>(server: S): S => attachTo(server, attachable) });
}

/**
 * Returns the request with its original target, which Connect and Express keep in `originalUrl` when
 * they remove the mount path from `url`. A request from an emulation of node:http may lack a Host
 * field, which the service requires in HTTP/1.1, so its HTTP version is left out.
 */
export function originalHead(request: NodeRequest): RequestHead {
  const url = 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : request.url;
  if (!(request instanceof IncomingMessage || 'stream' in request)) {
    const { method, rawHeaders, headers }: RequestHead = request;
    return { method, url, rawHeaders, headers };
  }
  return url === request.url ? request : withTarget(request, url ?? '');
}
