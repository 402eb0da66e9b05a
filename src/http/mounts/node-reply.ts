import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { forEachField, type Reply } from '../reply.js';
import { stopReading } from './pipelining.js';
import { withVary } from './vary.js';

/** A client that takes nothing of a response for this long is disconnected. */
const SILENT_MS = 120_000;

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
 * Sends a reply, in one write if the body is text. Headers that the host has already set are kept.
 */
export function send(response: NodeResponse, reply: Reply): void | Promise<void> {
  const { status, headers, body, isAddressOverLimit } = reply;
  const pieces = typeof body === 'object' && Symbol.asyncIterator in body ? body : undefined;
  if (response.destroyed || response.headersSent) {
    // The client has hung up, or the host has already responded. The store can stop reading the
    // list.
    pieces?.[Symbol.asyncIterator]()
      .return?.()
      .then(undefined, () => {});
    return;
  }
  if (isAddressOverLimit && isConnected(response)) stopReading(response.socket);
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
function isConnected(response: NodeResponse): response is ServerResponse & { readonly socket: Socket } {
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
