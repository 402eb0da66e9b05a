import { ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Reply } from '../reply.js';
import type { OrderService, RefusalCode } from '../service.js';

const CODES: Readonly<Record<string, RefusalCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * A `clientError` listener for a node:http server: what cannot be read as a request gets the Error object and the limit
 * fields too (400, 408, 431), charged to the connection's peer, and the connection is closed.
 */
export function clientErrorListener(
  service: OrderService,
): (error: Error & { readonly code?: string }, socket: Duplex) => void {
  const refused = new WeakSet<Duplex>();
  return (error, socket) => {
    // Whatever follows what could not be read is one more error on the same socket; it has its answer.
    if (refused.has(socket)) return;
    const close = () => void socket.destroy();
    const response = responseInProgress(socket);
    if (!socket.writable) close();
    else if (response?.writableEnded) socket.end(close);
    // An answer that has begun would be torn, and the sender of a whole request would take this answer for its own.
    else if (response?.headersSent || response?.req.complete) close();
    else {
      refused.add(socket);
      const write = (reply: Reply) => void socket.end(printReply(reply), 'latin1', close);
      const reply = service.refuse(CODES[error.code ?? ''] ?? 'bad_request', remoteAddress(socket));
      if (reply instanceof Promise) reply.then(write);
      else write(reply);
    }
  };
}

function remoteAddress(socket: Duplex & Partial<Pick<Socket, 'remoteAddress'>>): string | undefined {
  return socket.remoteAddress;
}

/** Node keeps it here, and asks the same in its own default listener. */
function responseInProgress(socket: Duplex): ServerResponse | undefined {
  const response: unknown = Reflect.get(socket, '_httpMessage');
  return response instanceof ServerResponse ? response : undefined;
}

/** RFC 9112 §4 and §5. */
function printReply({ status, headers, body }: Reply): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nDate: ${new Date().toUTCString()}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${head}\r\n${body}`;
}
