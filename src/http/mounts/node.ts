import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { checkFields, checkFunction, checkMethods } from '../../check.js';
import { socketAddress } from '../client-address.js';
import { forEachField, type Reply } from '../reply.js';
import { type RequestHead, withTarget } from '../request.js';
import type { OrderService } from '../service.js';
import { attachTo } from './node-server.js';
import { createPipelining, isWaiting, stopReading } from './pipelining.js';
import { withVary } from './vary.js';

/** A client that takes nothing of a response for this long is disconnected. */
const SILENT_MS = 120_000;

export type NodeRequest = IncomingMessage | Http2ServerRequest;
type HttpResponse = ServerResponse | Http2ServerResponse;

export interface NodeMountOptions {
  /**
   * Returns the client's address. Requests without a valid key are limited per address. Default:
   * the framework's `request.ip`, which in Express follows `trust proxy`. If there is no framework,
   * the default is the address of the connection's peer.
   */
  readonly clientAddress?: ((request: NodeRequest) => string | undefined) | undefined;
  /** Is called with each reply before it is sent, for example to count who was charged. */
  readonly onReply?: ((request: NodeRequest, reply: Reply) => void) | undefined;
}

/**
 * A listener for `node:http`, `https` and `http2`. If it is called with `next`, it acts as a
 * middleware for Express and Connect, and passes requests for other paths to `next`.
 */
export interface NodeHandler {
  /**
   * Returns a promise if `next` is not passed and the reply is written later. Some hosts wait for
   * this promise.
   */
  (request: NodeRequest, response: HttpResponse, next?: () => void): void | Promise<void>;
  /**
   * Prepares and returns the `node:http` or `https` server in which the handler is mounted. Without
   * `attach`, Node.js itself responds to malformed requests, to `CONNECT` and unknown methods, and
   * to requests with an `Expect` field or without a `Host` field. It also drops the response to a
   * client that has closed its sending half of the connection. With `attach`, the service responds
   * to all these requests, so that every error response has the API's JSON error body and the
   * rate-limit fields.
   */
  attach<S extends Server>(server: S): S;
}

/** The common part of HTTP/1 and HTTP/2 responses. */
interface NodeResponse extends NodeJS.WritableStream {
  statusCode: number;
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  readonly writableLength: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: string[]): unknown;
  end(body?: unknown, encoding?: BufferEncoding | (() => void)): this;
}

/**
 * Creates a handler that mounts the service in any server compatible with node:http. Headers that
 * the host has already set are kept.
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
  checkMethods('service', service, ['respond', 'refuse', 'owns']);
  checkFields('options', options, ['clientAddress', 'onReply']);
  const { clientAddress = frameworkAddress, onReply } = options;
  checkFunction('clientAddress', clientAddress);
  if (onReply !== undefined) checkFunction('onReply', onReply);
  const wait = createPipelining();

  function answer(request: NodeRequest, response: HttpResponse, head: RequestHead): void | Promise<void> {
    // An earlier response has closed the connection. In HTTP/2, `socket.writable` is that of the
    // stream, and the stream of a HEAD request is never writable.
    if (request.socket?.writable === false && !('stream' in request)) return;
    if (isWaiting(response)) {
      wait(response, () => answer(request, response, head));
      return;
    }
    const reply = service.respond(head, () => clientAddress(request));
    return reply instanceof Promise
      ? reply.then((settled) => write(request, response, settled))
      : write(request, response, reply);
  }

  function write(request: NodeRequest, response: HttpResponse, reply: Reply): void | Promise<void> {
    onReply?.(request, reply);
    if (reply.isOverLimit && reply.charged === 'address' && !('stream' in request)) stopReading(request.socket);
    return send(response, reply);
  }

  // The function has exactly three named parameters, because hosts recognise a middleware by the
  // number of its parameters.
  const handle = (request: NodeRequest, response: HttpResponse, next?: () => void): void | Promise<void> => {
    const head = originalHead(request);
    if (next === undefined) return answer(request, response, head);
    // The handler returns nothing here, because restify treats a returned promise as a call of
    // `next`.
    if (service.owns(head.url ?? '')) answer(request, response, head);
    else next();
  };
  return Object.assign(handle, {
    attach: <S extends Server>(server: S): S => attachTo(server, service, clientAddress),
  });
}

/**
 * Returns the request with its original target. Connect and Express keep this target in
 * `originalUrl` when they remove the mount path from `url`. A request from an emulation of
 * node:http may lack a Host field, which the service requires in HTTP/1.1. So the HTTP version of
 * such a request is left out.
 */
export function originalHead(request: NodeRequest): RequestHead {
  const url = 'originalUrl' in request && typeof request.originalUrl === 'string' ? request.originalUrl : request.url;
  if (!(request instanceof IncomingMessage || 'stream' in request)) {
    const { method, rawHeaders, headers }: RequestHead = request;
    return { method, url, rawHeaders, headers };
  }
  return url === request.url ? request : withTarget(request, url ?? '');
}

export function frameworkAddress(request: NodeRequest): string | undefined {
  return 'ip' in request && typeof request.ip === 'string' ? request.ip : socketAddress(request);
}

export function send(response: NodeResponse, { status, headers, body }: Reply): void | Promise<void> {
  const pieces = typeof body === 'object' && Symbol.asyncIterator in body ? body : undefined;
  if (response.destroyed || response.headersSent) {
    // The client has hung up, or the host has already responded. The store can stop reading the
    // list.
    pieces?.[Symbol.asyncIterator]()
      .return?.()
      .then(undefined, () => {});
    return;
  }
  writeHead(response, status, withVary(headers, response.getHeader('Vary')));
  let sent: Promise<void> | undefined;
  if (pieces !== undefined) {
    sent = pipeline(Readable.from(inTurns(pieces)), response).catch(() => {
      // An emulation of node:http may have no connection to close. It sends the response only after
      // the handler has ended, so the status can still be changed to 500.
      response.statusCode = 500;
    });
  } else if (typeof body !== 'string') response.end(body);
  else if (isConnected(response) && !Object.hasOwn(response, 'write') && !Object.hasOwn(response, 'end')) {
    endWith(response, body);
  } else response.end(body, 'latin1');
  // Most responses have already been taken by the system.
  if ((sent !== undefined || response.writableLength > 0) && isConnected(response)) cutIfSilent(response);
  return sent;
}

/** Yields one piece in each pass of the event loop, so that other requests need not wait long. */
async function* inTurns(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}

/** Closes the connection if nothing is sent on it for two minutes, or for the host's own timeout. */
function cutIfSilent(response: ServerResponse): void {
  if (!response.socket?.timeout) response.setTimeout(SILENT_MS, () => response.destroy());
}

/**
 * Sends the head and the body in one system call, `write`. If the body were passed to `end`,
 * Node.js would append an empty chunk and call `writev`, and the whole request would take a tenth
 * longer.
 */
function endWith(response: ServerResponse, body: string): void {
  const { socket } = response;
  // If the socket were not corked here, `response.write` would cork it until the next tick. The
  // body would still be buffered when `end` is called, so `end` would append the empty chunk.
  socket?.cork();
  response.write(body, 'latin1');
  socket?.uncork();
  response.end();
}

/**
 * Reports whether this is an HTTP/1 response on a real connection. An emulation of node:http has
 * its own class of responses or of sockets.
 */
function isConnected(response: NodeResponse): response is ServerResponse {
  return response instanceof ServerResponse && response.socket instanceof Socket;
}

/**
 * Passes all headers in one array to `writeHead` if that is Node's own method. Otherwise sets the
 * headers one by one. Middleware for compression, sessions or response times replaces `writeHead`.
 * The replacement in on-headers before 1.1 misreads such an array, and emulations of node:http
 * misread or ignore it.
 */
function writeHead(response: NodeResponse, status: number, headers: string[]): void {
  if (!Object.hasOwn(response, 'writeHead') && (isConnected(response) || 'stream' in response)) {
    response.writeHead(status, headers);
    return;
  }
  forEachField(headers, (name, value) => void response.setHeader(name, value));
  response.writeHead(status);
}
