import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { types } from 'node:util';
import {
  isPieces,
  isTaken,
  MAX_PART_BYTES,
  type Reply,
  setFields,
  type TakenPieces,
  withHostFields,
} from '../reply.js';
import { stopReading } from './node-internals.js';

/** A response of which a client takes nothing for this long is cut off. */
const SILENT_MS = 120_000;

/** The common part of HTTP/1 and HTTP/2 responses. */
export interface NodeResponse extends NodeJS.WritableStream {
  statusCode: number;
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  readonly socket?: unknown;
  readonly writableLength: number;
  readonly writableEnded: boolean;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string | string[]): unknown;
  writeHead(status: number, headers?: string[]): unknown;
  end(body?: unknown, encoding?: BufferEncoding | (() => void)): this;
  destroy(error?: Error): unknown;
}

/** Node's own HTTP/1 response on a real connection. */
type SocketResponse = ServerResponse & { readonly socket: Socket };

/** Sends a reply. Headers that the host has set are kept. */
export function send(response: NodeResponse, reply: Reply): void | Promise<void> {
  if (isOver(response)) {
    endUnread(reply.body);
    return;
  }
  const headers = withHostFields(reply.headers, (name) => response.getHeader(name));
  if (!isConnected(response)) return sendByMethods(response, reply, headers);
  if (reply.isAddressOverLimit) stopReading(response.socket);
  const isReplaced = Object.hasOwn(response, 'writeHead') || Object.hasOwn(response, 'end');
  return isReplaced ? sendByMethods(response, reply, headers) : sendToSocket(response, reply, headers);
}

function sendToSocket(response: SocketResponse, { status, body }: Reply, headers: string[]): void | Promise<void> {
  response.writeHead(status, headers);
  if (isPieces(body)) return sendPieces(response, body);
  if (typeof body === 'string') {
    // With `end(body)`, or without the cork, Node.js would append an empty chunk and call `writev`,
    // and the whole request would take a tenth longer.
    response.socket.cork();
    response.write(body, 'latin1');
    response.socket.uncork();
    response.end();
  } else response.end(body);
  cutIfStalled(response);
}

/**
 * Sends a reply without an array of headers: over HTTP/2, to an emulation of node:http, which would
 * misread it, or through middleware that has replaced functions of the response, as on-headers
 * before 1.1 does.
 */
function sendByMethods(response: NodeResponse, { status, body }: Reply, headers: string[]): void | Promise<void> {
  setFields(headers, (name, value) => void response.setHeader(name, value));
  response.writeHead(status);
  if (isPieces(body)) return sendPieces(response, body);
  response.end(body, 'latin1');
  cutIfStalled(response);
}

/** Reports whether the client has hung up, or the host has already responded. */
export function isOver(response: NodeResponse): boolean {
  return response.headersSent || isClosed(response);
}

function isClosed(response: NodeResponse): boolean {
  // After a hang-up, the socket of an HTTP/2 response is `undefined`.
  return response.destroyed || ('stream' in response && response.socket === undefined);
}

/** Ends a list that nobody will read, so that the store stops reading it. */
function endUnread(body: Reply['body']): void {
  if (!isPieces(body)) return;
  const ended = body[Symbol.asyncIterator]().return?.();
  ended?.then(undefined, () => {});
}

function sendPieces(response: NodeResponse, body: AsyncIterable<Uint8Array>): void | Promise<void> {
  if (!isTaken(body) || body.onlyPiece === undefined) return sendInTurns(response, body);
  response.end(body.onlyPiece);
  // The system has already taken the piece for most clients. It counts as kept for the others.
  if (response.writableLength === 0) return;
  void countUntilSent(body, response);
  cutIfStalled(response);
}

/**
 * Returns the content that a framework sends: a list of one piece whole, because a stream of it takes
 * three times the processor time.
 */
export function contentOf(body: AsyncIterable<Uint8Array>, response: NodeResponse): Uint8Array | Readable {
  if (isTaken(body) && body.onlyPiece !== undefined) {
    void countUntilSent(body, response);
    return body.onlyPiece;
  }
  destroyWhenCut(body, response);
  const content = Readable.from(body);
  // Before the head is sent, the framework responds to a failure. Later, it may end the response as if
  // it were complete. In HTTP/1, the host would take the error of a socket for one of the client.
  content.once('error', (error) => response.headersSent && destroy(response, 'stream' in response && error));
  return content;
}

async function countUntilSent(body: TakenPieces, response: NodeResponse): Promise<void> {
  await setImmediate();
  // The system has already taken most responses. The length is `NaN` in serverless-http.
  const isSent = response.writableEnded && !(response.writableLength > 0);
  if (isSent || isClosed(response)) return;
  destroyWhenCut(body, response);
  const pieces = body[Symbol.asyncIterator]();
  pieces.next().catch(() => {});
  response.once('close', () => pieces.return?.());
}

/**
 * Sends the pieces as fast as the client takes them, one in each pass of the event loop, so that
 * other requests need not wait long. If the body fails, the response is destroyed. The `pipeline` of
 * Node.js is not used: it would go on after an HTTP/2 client has hung up, and would end a truncated
 * list in serverless-http with a 200.
 */
async function sendInTurns(response: NodeResponse, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  let hasStopped = false;
  function stop(): void {
    hasStopped = true;
  }
  response.once('close', stop);
  // Without a listener, a write after the host has ended the response would end the process.
  response.on('error', stop);
  destroyWhenCut(pieces, response);
  const drained = createDrained(response);
  try {
    for await (const piece of pieces) {
      for (const part of partsOf(piece)) {
        if (hasStopped) return;
        if (response.write(part) === false) await drained();
      }
      await setImmediate();
    }
    response.end();
    cutIfStalled(response);
  } catch (error) {
    destroy(response, error);
    // An emulation without a connection sends the response only after the handler has ended.
    response.statusCode = 500;
  }
}

/** Destroys the response of a list that is cut off. Its client may never take the piece that waits. */
function destroyWhenCut(pieces: AsyncIterable<Uint8Array>, response: NodeResponse): void {
  if (isTaken(pieces)) pieces.cut.then(({ error }) => destroy(response, error));
}

function destroy(response: NodeResponse, error: unknown): void {
  // In HTTP/1.0, only a reset tells that a stream is not complete. TLS and Unix sockets have none.
  const socket = isConnected(response) && response.req.httpVersion === '1.0' ? response.socket : undefined;
  if (socket?.remoteFamily !== undefined && !('encrypted' in socket)) socket.resetAndDestroy();
  response.destroy(types.isNativeError(error) ? error : undefined);
}

function* partsOf(piece: Uint8Array): Generator<Uint8Array, undefined> {
  for (let start = 0; start < piece.length; start += MAX_PART_BYTES) {
    yield piece.subarray(start, start + MAX_PART_BYTES);
  }
}

/** Watches the last bytes of a response. The system has already taken those of most responses. */
function cutIfStalled(response: NodeResponse): void {
  if (response.writableLength > 0 && (isConnected(response) || 'stream' in response)) void createDrained(response)();
}

/**
 * Returns a function that waits until the response has drained or is closed. If neither happens for
 * two minutes, cuts it off. The timeout of the socket does not do this: whatever the client sends
 * restarts it. The listeners stay, because the middleware `compression` cannot remove one for `drain`.
 */
function createDrained(response: NodeResponse): () => Promise<void> {
  let settle = () => {};
  for (const event of ['drain', 'close', 'error']) response.on(event, () => settle());
  return () =>
    new Promise((resolve) => {
      // Without an error, an HTTP/2 client would take the list for complete.
      const cut = () => destroy(response, new Error('The client has taken nothing for two minutes.'));
      const timer = setTimeout(cut, SILENT_MS).unref();
      settle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
}

/** Reports whether this is an HTTP/1 response on a real connection, not one of an emulation. */
function isConnected(response: NodeResponse): response is SocketResponse {
  return response instanceof ServerResponse && response.socket instanceof Socket;
}
