import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { socketAddress } from '../client-address.js';
import type { Reply } from '../reply.js';
import type { RequestHead } from '../request-head.js';
import type { OrderService } from '../service.js';
import { dropIfSilent, writePieces } from './node-stream.js';
import { withVary } from './vary.js';

export type NodeRequest = IncomingMessage | Http2ServerRequest;

export interface NodeMountOptions {
  /**
   * The client's address, by which requests without a valid key are limited. Default: what the framework says in `request.ip`, as Express
   * does by its `trust proxy`; without a framework the connection's peer.
   */
  readonly clientAddress?: ((request: NodeRequest) => string | undefined) | undefined;
}

/**
 * A listener for `node:http`, `https` and `http2`, and, with `next`, a middleware for Express and Connect: foreign paths are
 * passed on.
 */
export type NodeHandler = (
  request: NodeRequest,
  response: ServerResponse | Http2ServerResponse,
  next?: () => void,
) => void;

/** What both kinds of response have in common. */
interface NodeResponse extends NodeJS.WritableStream {
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  readonly writableLength: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: string[]): unknown;
  end(body?: unknown, encoding?: BufferEncoding | (() => void)): this;
}

/**
 * Most requests of one connection that wait for the answer before. Node reads on as long as no answer waits to be sent, so
 * a client who sends and never reads would fill the memory; it is cut off, and what waited is not done.
 */
const MOST_WAITING = 1_000;

/**
 * Mounts the service in any server that speaks node:http. Headers that the host has set stay. Create the server with
 * `requireHostHeader: false`: a request without Host is then answered 400 here, with the limit fields and not without.
 * On Node 20 set its `maxHeadersCount = 0` too: else Node drops the fields after the 1,000th without a word, and a second
 * credential may hide there. The limit on their size stays.
 */
export function nodeHandler(service: OrderService, options: NodeMountOptions = {}): NodeHandler {
  const { clientAddress = frameworkAddress } = options;
  const waiting = new WeakMap<Socket, number>();

  function answer(head: RequestHead, request: NodeRequest, response: NodeResponse): void {
    // What cannot be answered is not done: the answer before may have closed the connection (RFC 9112 §9.6). In HTTP/2 this
    // is asked of the stream, which of a HEAD is never writable.
    if (request.socket.writable === false && request.httpVersionMajor === 1) return;
    const reply = service.respond(head, () => clientAddress(request));
    if (reply instanceof Promise) reply.then((settled) => send(response, settled));
    else send(response, reply);
  }

  /** Sent without waiting for the answer before: it has its turn after that (RFC 9112 §9.3.2). */
  function answerInTurn(head: RequestHead, request: NodeRequest, response: NodeResponse): void {
    const { socket } = request;
    const before = waiting.get(socket) ?? 0;
    if (before === MOST_WAITING) {
      socket.destroy();
      return;
    }
    waiting.set(socket, before + 1);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      process.nextTick(answer, head, request, response);
    });
  }

  return (request, response, next) => {
    const head = originalHead(request);
    if (next !== undefined && !service.owns(head.url ?? '')) next();
    else if (response.socket !== null) answer(head, request, response);
    else answerInTurn(head, request, response);
  };
}

/** Connect and Express cut their mount path off `url` and keep the whole in `originalUrl`. */
function originalHead(request: NodeRequest): RequestHead {
  if (!('originalUrl' in request) || typeof request.originalUrl !== 'string') return request;
  const { method, originalUrl: url, rawHeaders, httpVersion } = request;
  return { method, url, rawHeaders, httpVersion };
}

export function frameworkAddress(request: NodeRequest): string | undefined {
  return 'ip' in request && typeof request.ip === 'string' ? request.ip : socketAddress(request);
}

export function send(response: NodeResponse, { status, headers, body }: Reply): void {
  const pieces = typeof body === 'object' && Symbol.asyncIterator in body ? body : undefined;
  if (response.destroyed || response.headersSent) {
    // The client has hung up, or the host has answered in the meantime. The store's work ends.
    pieces?.[Symbol.asyncIterator]()
      .return?.()
      .then(undefined, () => {});
    return;
  }
  writeHead(response, status, withVary(headers, response.getHeader('Vary')));
  if (pieces !== undefined) {
    if (isPlain(response)) writePieces(response, pieces);
    else pipeline(Readable.from(pieces), response, () => {});
    return;
  }
  if (typeof body === 'string') response.end(body, 'latin1');
  else response.end(body);
  if (response.writableLength > 0 && isPlain(response)) dropIfSilent(response);
}

/** Of HTTP/1, and written to as it is: middleware that compresses puts a `write` of its own here. */
function isPlain(response: NodeResponse): response is ServerResponse {
  return response instanceof ServerResponse && !Object.hasOwn(response, 'write');
}

/**
 * Middleware that adds headers at the last moment (compression, sessions, response times) puts a `writeHead` of its own here, which
 * in on-headers before 1.1 takes the names of a flat list apart.
 */
function writeHead(response: NodeResponse, status: number, headers: string[]): void {
  if (!Object.hasOwn(response, 'writeHead')) {
    response.writeHead(status, headers);
    return;
  }
  for (let i = 0; i + 1 < headers.length; i += 2) response.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
  response.writeHead(status);
}
