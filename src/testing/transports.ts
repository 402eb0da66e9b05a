import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers';
import { nodeHandler, type OrderService } from '../http/index.js';
import { fetchHandler } from '../http/mounts/fetch.js';
import { headOf } from '../http/mounts/fetch-conversion.js';
import type { Reply } from '../http/reply.js';
import type { RespondWith, TestFault } from './faults.js';

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
 * Creates the two ways to reach the service: `fetch` and a socket. A request by either of them gets
 * the next fault from `nextFault`.
 */
export function createTransports(
  service: OrderService,
  respondWith: RespondWith,
  nextFault: () => TestFault | undefined,
): Transports {
  const handleRequest = fetchHandler(service);
  const handle = nodeHandler(service);
  const answeredBy = (reply: Reply): OrderService => ({ ...service, respond: () => reply });

  async function answer(request: Request, signal: AbortSignal | undefined): Promise<Response> {
    const fault = nextFault();
    if (fault === undefined) return handleRequest(request);
    const connection = { clientAddress: undefined, signal, flush: async () => {} };
    const reply = await respondWith(fault, headOf(request), connection);
    if (reply !== undefined) return fetchHandler(answeredBy(reply))(request);
    throw new TypeError('fetch failed', { cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }) });
  }

  async function spoil(fault: TestFault, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const closing = new AbortController();
    response.once('close', () => closing.abort());
    const reply = await respondWith(fault, request, {
      clientAddress: request.socket.remoteAddress,
      signal: closing.signal,
      flush: () => new Promise((resolve) => setImmediate(resolve)),
    });
    if (reply === undefined) request.destroy();
    else nodeHandler(answeredBy(reply))(request, response);
  }

  return {
    async fetch(input, init) {
      const request = new Request(input, init);
      const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
      return signal === undefined ? answer(request, signal) : abortable(() => answer(request, signal), signal);
    },

    async listen() {
      const server = handle.attach(
        createServer((request, response) => {
          const fault = nextFault();
          if (fault === undefined) handle(request, response);
          else void spoil(fault, request, response);
        }),
      );
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(0, '127.0.0.1', resolve);
      });
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

/**
 * Returns the response. Rejects with the signal's reason if the signal is aborted before or during
 * the request. After that, an abort makes reading the body fail.
 */
async function abortable(answer: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
  signal.throwIfAborted();
  let abort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener('abort', abort);
  try {
    const response = await Promise.race([answer(), aborted]);
    if (response.body === null) return response;
    return new Response(abortableBody(response.body, signal), response);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Returns a copy of the body that fails when the signal is aborted. `pipeThrough` with a `signal`
 * would not be enough: it reads ahead, and cannot fail once it has read everything.
 */
function abortableBody(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let abort = (): void => {};
  return new ReadableStream(
    {
      start(controller) {
        abort = () => {
          controller.error(signal.reason);
          reader.cancel(signal.reason).catch(() => {});
        };
        signal.addEventListener('abort', abort);
        if (signal.aborted) abort();
      },
      async pull(controller) {
        const { done, value } = await reader.read();
        if (signal.aborted) return;
        if (!done) controller.enqueue(value);
        else {
          signal.removeEventListener('abort', abort);
          controller.close();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
