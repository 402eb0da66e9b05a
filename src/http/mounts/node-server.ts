import { AsyncResource } from 'node:async_hooks';
import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { checkMethods } from '../../check.js';
import { after } from '../maybe-promise.js';
import { forEachField, type Reply } from '../reply.js';
import type { FaultCode } from '../request.js';
import type { OrderService } from '../service/service.js';
import {
  acceptUnusual,
  closeGently,
  handleEvents,
  onClientError,
  responseInProgress,
  stopReading,
} from './node-internals.js';

interface ClientError extends Error {
  readonly code?: string;
  /** After a parse error: the bytes received, and how many of them were parsed before it. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';

const CODES: Readonly<Record<string, FaultCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  [TIMED_OUT]: 'request_timeout',
};

/** The parts of a handler that respond to what reaches no listener of the host. */
export interface Attachable {
  readonly service: OrderService;
  readonly clientAddress: (request: IncomingMessage) => string | undefined;
}

/** The property of a server with its handler. Two copies of this package share the symbol. */
const ATTACHED = Symbol.for('store-orders: attached handler');

/** Makes the handler respond to the requests that `NodeHandler.attach` names. */
export function attachTo<S extends Server & { [ATTACHED]?: Attachable }>(server: S, handler: Attachable): S {
  checkMethods('server', server, ['on', 'emit']);
  const attached = server[ATTACHED];
  if (attached === handler) return server;
  if (attached !== undefined) {
    throw new TypeError(
      `server: a handler with basePath "${attached.service.basePath}" is already attached to it; attach one handler, ` +
        'and call the others in the listener of the server',
    );
  }
  Object.defineProperty(server, ATTACHED, { value: handler });
  const { service, clientAddress } = handler;
  acceptUnusual(server);
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  // The host has given such a request no context. Its event can come in that of an earlier one.
  const respondInOwnContext = AsyncResource.bind(respondAndClose);
  server.on('connect', (request, socket) => {
    handleEvents(socket);
    respondInOwnContext(socket, () => service.respond(request, () => clientAddress(request)));
  });
  // Node.js reports each error of a connection to its server, with nothing but the socket.
  const closing = new WeakSet<Duplex>();
  server.on('clientError', (error: ClientError, socket) => {
    if (!closing.has(socket)) {
      closing.add(socket);
      const address = socket instanceof Socket ? socket.remoteAddress : undefined;
      respondInOwnContext(socket, () => service.refuse(faultCodeOf(error), address));
    } else if (error.code === TIMED_OUT) {
      // The pending response waits for the rest of the malformed content, which never arrives. All
      // other later errors are only consequences of the first.
      socket.destroy();
    }
  });
  return server;
}

/**
 * Sends the pending responses of a connection before Node.js closes it because of malformed bytes,
 * in a server that is not attached. Otherwise its 400 would take the place of a response to a request
 * that is carried out.
 */
export function respondBeforeErrors(response: unknown): void {
  if (!(response instanceof ServerResponse)) return;
  const { socket } = response.req;
  // An emulation of node:http has no socket.
  if (socket instanceof Socket) onClientError(socket, finish);
}

/**
 * Sends the pending responses of a socket that Node.js no longer parses, then closes it. If there
 * are none, sends a last response instead.
 */
function respondAndClose(socket: Duplex, ask: () => Reply | Promise<Reply>): void {
  if (finish(socket)) return;
  if (!socket.writable || responseInProgress(socket)?.headersSent) socket.destroy();
  else after(ask(), (reply) => closeGently(socket, serializeReply(reply)));
}

/**
 * Closes the socket after its pending responses, and returns whether there are any. A route of the
 * host that reads content which has not arrived could wait for its end forever, so its response does
 * not count. This service never reads the content of a request.
 */
function finish(socket: Duplex): boolean {
  const response = responseInProgress(socket);
  if (!socket.writable || response === undefined) return false;
  const { complete, readableFlowing } = response.req;
  if (!complete && readableFlowing !== null) return false;
  stopReading(socket);
  closeAfterPending(socket, response);
  return true;
}

/**
 * Closes the socket after its last pending response. At `finish`, Node.js has already passed the
 * socket to the next response.
 */
function closeAfterPending(socket: Duplex, response: ServerResponse | undefined): void {
  if (response === undefined) closeGently(socket);
  else response.once('finish', () => closeAfterPending(socket, responseInProgress(socket)));
}

/** Matches a valid request line (RFC 9112 §3). The method can be unknown. */
const REQUEST_LINE = /^[\w!#$%&'*+.^`|~-]+ [^ \r\n]+ HTTP\/1\.[01]\r\n/;

function faultCodeOf({ code = '', rawPacket, bytesParsed }: ClientError): FaultCode {
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined) return CODES[code] ?? 'bad_request';
  const packet = rawPacket.toString('latin1');
  const line = packet.slice(packet.lastIndexOf('\n', bytesParsed) + 1);
  return REQUEST_LINE.test(line) ? 'method_not_implemented' : 'bad_request';
}

/** Serialises a reply as an HTTP/1.1 message (RFC 9112 §4 and §5). */
function serializeReply({ status, headers, body }: Reply): string {
  let lines = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${new Date().toUTCString()}\r\n`;
  forEachField(headers, (name, value) => {
    if (name !== 'Connection') lines += `${name}: ${value}\r\n`;
  });
  return `${lines}Connection: close\r\n\r\n${body ?? ''}`;
}
