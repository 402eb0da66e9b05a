import { type IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { checkMethods } from '../../check.js';
import { after } from '../host-call.js';
import { forEachField, type Reply } from '../reply.js';
import type { RefusalCode } from '../request.js';
import type { OrderService } from '../service.js';

interface ClientError extends Error {
  readonly code?: string;
  /** After a parse error: the bytes received, and how many of them were parsed before it. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';

const CODES: Readonly<Record<string, RefusalCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  [TIMED_OUT]: 'request_timeout',
};

/** Makes the service respond to the requests that `NodeHandler.attach` names. */
export function attachTo<S extends Server>(
  server: S,
  service: OrderService,
  clientAddress: (request: IncomingMessage) => string | undefined,
): S {
  checkMethods('server', server, ['on', 'emit']);
  // Node.js reads both options for each new connection, so they can be set on an existing server.
  Object.assign(server, { requireHostHeader: false, httpAllowHalfOpen: true });
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  server.on('connect', (request, socket) => {
    // After a CONNECT request, Node.js no longer handles the events of the socket. A response that
    // began before still depends on them.
    socket.on('error', () => {});
    socket.on('timeout', () => socket.destroy());
    socket.on('drain', () => responseInProgress(socket)?.emit('drain'));
    answerAndClose(socket, () => service.respond(request, () => clientAddress(request)));
  });
  const closing = new WeakSet<Duplex>();
  server.on('clientError', (error: ClientError, socket) => {
    if (!closing.has(socket)) {
      closing.add(socket);
      const address = socket instanceof Socket ? socket.remoteAddress : undefined;
      answerAndClose(socket, () => service.refuse(codeOf(error), address));
    } else if (error.code === TIMED_OUT) {
      // The pending response waits for the rest of the malformed content, which never arrives. All
      // other later errors are only consequences of the first.
      socket.destroy();
    }
  });
  return server;
}

/**
 * Sends the pending responses of a socket that Node.js no longer parses, then closes it. If there
 * are none, sends a last response instead.
 */
function answerAndClose(socket: Duplex, ask: () => Reply | Promise<Reply>): void {
  const close = () => void socket.destroy();
  const write = (reply: Reply) => void socket.end(serializeReply(reply), 'latin1', close);
  const response = responseInProgress(socket);
  if (!socket.writable) close();
  else if (response === undefined) after(ask(), write);
  // This service never reads the content of a request. A route of the host that reads it could wait
  // for its end forever.
  else if (response.req.complete || response.req.readableFlowing === null) closeAfterPending(socket, response);
  else if (response.headersSent) close();
  else after(ask(), write);
}

/**
 * Closes the socket after its last pending response. At `finish`, Node.js has already passed the
 * socket to the next response.
 */
function closeAfterPending(socket: Duplex, response: ServerResponse | undefined): void {
  if (response === undefined) socket.end(() => socket.destroy());
  else response.once('finish', () => closeAfterPending(socket, responseInProgress(socket)));
}

/** Matches a valid request line (RFC 9112 §3). The method can be unknown. */
const REQUEST_LINE = /^[\w!#$%&'*+.^`|~-]+ [^ \r\n]+ HTTP\/1\.[01]\r\n/;

function codeOf({ code = '', rawPacket, bytesParsed }: ClientError): RefusalCode {
  if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined) return CODES[code] ?? 'bad_request';
  const packet = rawPacket.toString('latin1');
  const line = packet.slice(packet.lastIndexOf('\n', bytesParsed) + 1);
  return REQUEST_LINE.test(line) ? 'method_not_implemented' : 'bad_request';
}

/** Returns the response in progress, from the private property that Node's own listener reads too. */
function responseInProgress(socket: Duplex): ServerResponse | undefined {
  const response: unknown = Reflect.get(socket, '_httpMessage');
  return response instanceof ServerResponse ? response : undefined;
}

/** Serialises a reply as an HTTP/1.1 message (RFC 9112 §4 and §5). */
function serializeReply({ status, headers, body }: Reply): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${new Date().toUTCString()}\r\n`;
  forEachField(headers, (name, value) => {
    if (name !== 'Connection') head += `${name}: ${value}\r\n`;
  });
  return `${head}Connection: close\r\n\r\n${body ?? ''}`;
}
