import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { nodeHandler, type OrderService } from '../http/index.js';
import { fetchHandler } from '../http/mounts/fetch.js';
import { headOf } from '../http/mounts/fetch-conversion.js';
import type { Reply } from '../http/reply.js';
import type { createFaultResponder, TestFault } from './faults.js';
import { asFetched } from './fetched.js';

/** A test service that listens on a port. */
export interface ListeningTestService {
  /** The base address of the service, such as `http://127.0.0.1:50000/v1`. */
  readonly url: string;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
}

interface Transports {
  readonly fetch: typeof globalThis.fetch;
  listen(): Promise<ListeningTestService>;
}

/**
 * Creates the two ways to reach the service: `fetch` and a socket. Each request by either of them
 * takes the next fault from `nextFault`.
 */
export function createTransports(
  service: OrderService,
  respondWithFault: ReturnType<typeof createFaultResponder>,
  nextFault: () => TestFault | undefined,
): Transports {
  const handleFetch = fetchHandler(service);
  const handleSocket = nodeHandler(service);
  const withReply = (reply: Reply): OrderService => ({ ...service, respond: () => reply });

  async function fetched(request: Request): Promise<Response> {
    const { signal } = request;
    signal.throwIfAborted();
    const fault = nextFault();
    if (fault === undefined) return handleFetch(request);
    const reply = await respondWithFault(fault, headOf(request), { clientAddress: undefined, signal });
    signal.throwIfAborted();
    if (reply !== undefined) return fetchHandler(withReply(reply))(request);
    throw new TypeError('fetch failed', { cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) });
  }

  async function sendWithFault(fault: TestFault, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const closing = new AbortController();
    response.once('close', () => closing.abort());
    const reply = await respondWithFault(fault, request, {
      clientAddress: request.socket.remoteAddress,
      signal: closing.signal,
    });
    if (reply === undefined) request.destroy();
    else nodeHandler(withReply(reply))(request, response);
  }

  return {
    async fetch(input, init) {
      const request = new Request(input, init);
      // A fetched response is decoded but has the fields of the coded one, so MSW could not pass it on.
      request.headers.delete('Accept-Encoding');
      return asFetched(request, await fetched(request));
    },

    async listen() {
      const server = handleSocket.attach(
        createServer((request, response) => {
          const fault = nextFault();
          if (fault === undefined) handleSocket(request, response);
          else void sendWithFault(fault, request, response);
        }),
      );
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const address = server.address();
      return {
        url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}${service.basePath}`,
        close: () =>
          new Promise((resolve) => {
            server.close(() => resolve());
            server.closeAllConnections();
          }),
      };
    },
  };
}
