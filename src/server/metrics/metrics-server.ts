import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, errorObject } from '../../http/errors.js';
import { nodeHandler, type OrderService, type Reply } from '../../http/index.js';
import { readRequest } from '../../http/request.js';

const SERVER_OPTIONS = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 2_000 };
const MOST_CONNECTIONS = 4;

/**
 * Creates a server that responds to `/metrics` with the result of `text`. Every error is an Error
 * object. The caller must call `listen`, with a port that clients of the service cannot reach.
 *
 * Concurrent requests share one call of `text`. A connection is closed if a request arrives on it
 * while another waits for its response. Node.js parses thousands of pipelined requests from one
 * piece of input, and each would otherwise hold a copy of the metrics.
 */
export function createMetricsServer(text: () => Promise<string>): Server {
  let pending: Promise<string> | undefined;

  function sharedText(): Promise<string> {
    pending ??= text().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  const service: OrderService = {
    basePath: '',
    owns: () => true,
    close: async () => {},
    refuse: (code) => refusal(code),
    respond(request) {
      const { method, url } = request;
      const { fault } = readRequest(request);
      if (fault !== undefined) return refusal(fault);
      if (url?.replace(/\?.*$/, '') !== '/metrics') return refusal('route_not_found', NOT_FOUND);
      if (method !== 'GET' && method !== 'HEAD') return refusal('method_not_allowed', {}, ['Allow', 'GET, HEAD']);
      return sharedText().then(metricsReply, () => refusal('internal_error'));
    },
  };
  const handle = nodeHandler(service);
  const waiting = new Set<Socket>();
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    const { socket } = request;
    if (waiting.has(socket)) {
      socket.destroy();
      return;
    }
    waiting.add(socket);
    response.once('close', () => waiting.delete(socket));
    void handle(request, response);
  });
  server.maxConnections = MOST_CONNECTIONS;
  return handle.attach(server);
}

const NOT_FOUND = { message: 'The path does not exist. The metrics are at GET /metrics.' };

function refusal(code: ErrorCode, changes = {}, fields: readonly string[] = []): Reply {
  const error = { ...errorObject(code), ...changes };
  return reply(error.status, 'application/json', JSON.stringify(error), fields);
}

function metricsReply(text: string): Reply {
  return reply(200, 'text/plain; version=0.0.4; charset=utf-8', text);
}

function reply(status: number, type: string, text: string, fields: readonly string[] = []): Reply {
  const body = Buffer.from(text);
  const headers = ['Content-Type', type, 'Content-Length', `${body.length}`, 'Cache-Control', 'no-store', ...fields];
  return { status, headers, body, charged: undefined, isAddressOverLimit: false };
}
