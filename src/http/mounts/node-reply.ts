import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { forEachField, type Reply, withVary } from '../reply.js';
import { stopReading } from './node-internals.js';

/** A client that reads nothing of a response for this long is disconnected. */
const SILENT_MS = 120_000;

/** The common part of HTTP/1 and HTTP/2 responses. */
interface NodeResponse extends NodeJS.WritableStream {
  statusCode: number;
  readonly destroyed: boolean;
  readonly headersSent: boolean;
  readonly socket?: unknown;
  readonly writableLength: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers?: string[]): unknown;
  destroy(error: Error): unknown;
  end(body?: unknown, encoding?: BufferEncoding | (() => void)): this;
}

/** Sends a reply, in one write if the body is text. Headers that the host has set are kept. */
export function send(response: NodeResponse, reply: Reply): void | Promise<void> {
  const { status, headers, body, isAddressOverLimit } = reply;
  const pieces = typeof body === 'object' && Symbol.asyncIterator in body ? body : undefined;
  if (isOver(response)) {
    // Ends the list, so that the store stops reading it.
    pieces?.[Symbol.asyncIterator]()
      .return?.()
      .then(undefined, () => {});
    return;
  }
  if (isAddressOverLimit && isConnected(response)) stopReading(response.socket);
  writeHead(response, status, withVary(headers, response.getHeader('Vary')));
  let sent: Promise<void> | undefined;
  if (pieces !== undefined) {
    sent = sendInTurns(response, pieces).catch((error: Error) => {
      response.destroy(error);
      // An emulation without a connection sends the response only after the handler has ended.
      response.statusCode = 500;
    });
  } else if (typeof body !== 'string') response.end(body);
  else if (isConnected(response) && !Object.hasOwn(response, 'end')) {
    endWith(response, body);
  } else response.end(body, 'latin1');
  // The operating system has already taken most responses, so they need no timeout.
  if ((sent !== undefined || response.writableLength > 0) && isConnected(response)) cutIfSilent(response);
  return sent;
}

/** Reports whether the client has hung up, or the host has already responded. */
export function isOver(response: NodeResponse): boolean {
  // After a hang-up, the socket of an HTTP/2 response is `undefined`.
  return response.destroyed || response.headersSent || ('stream' in response && response.socket === undefined);
}

/**
 * Sends the pieces as fast as the client takes them, one in each pass of the event loop, so that
 * other requests need not wait long. Rejects if the body fails. The `pipeline` of Node.js is not
 * used: it would go on after an HTTP/2 client has hung up, and would end a truncated list in
 * serverless-http with a 200.
 */
async function sendInTurns(response: NodeResponse, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  let isClosed = false;
  let proceed = () => {};
  function stop(): void {
    isClosed = true;
    proceed();
  }
  response.on('drain', () => proceed());
  response.once('close', stop);
  // Without a listener, a write after the host has ended the response would end the process.
  response.on('error', stop);
  for await (const piece of pieces) {
    if (isClosed) return;
    if (response.write(piece) === false) {
      await new Promise<void>((resolve) => {
        proceed = resolve;
      });
    }
    await setImmediate();
  }
  response.end();
}

/** Closes the connection if nothing is sent on it for two minutes, or for the host's own timeout. */
function cutIfSilent(response: ServerResponse): void {
  if (!response.socket?.timeout) response.setTimeout(SILENT_MS, () => response.destroy());
}

/**
 * Sends the head and the body in one `write`. With `end(body)`, or without the cork, Node.js would
 * append an empty chunk and call `writev`, and the whole request would take a tenth longer.
 */
function endWith(response: ServerResponse, body: string): void {
  const { socket } = response;
  socket?.cork();
  response.write(body, 'latin1');
  socket?.uncork();
  response.end();
}

/** Reports whether this is an HTTP/1 response on a real connection, not one of an emulation. */
function isConnected(response: NodeResponse): response is ServerResponse & { readonly socket: Socket } {
  return response instanceof ServerResponse && response.socket instanceof Socket;
}

/**
 * Passes the headers to Node's own `writeHead` in one array. Emulations of node:http misread such
 * an array, and so does middleware that uses on-headers before 1.1.
 */
function writeHead(response: NodeResponse, status: number, headers: string[]): void {
  if (!Object.hasOwn(response, 'writeHead') && isConnected(response)) {
    response.writeHead(status, headers);
    return;
  }
  forEachField(headers, (name, value) => void response.setHeader(name, value));
  response.writeHead(status);
}
