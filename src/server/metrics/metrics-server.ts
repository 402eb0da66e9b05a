import { createServer, type Server } from 'node:http';
import { type ErrorCode, errorObject } from '../../http/errors.js';
import { stopReading } from '../../http/mounts/pipelining.js';
import { type ReadRequest, readRequest } from '../../http/request.js';

const SERVER_OPTIONS = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 2_000 };
const MOST_CONNECTIONS = 4;

/**
 * Creates a server that responds to `/metrics` with the result of `text`. Concurrent requests share
 * one call of `text`. The caller must call `listen`, with a port that clients of the service cannot
 * reach. A connection is closed after one response, and pipelined requests are not read.
 */
export function createMetricsServer(text: () => Promise<string>): Server {
  let pending: Promise<string> | undefined;

  function sharedText(): Promise<string> {
    pending ??= text().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  function refusalOf({ method, target, fault }: ReadRequest): ErrorCode | undefined {
    if (fault !== undefined) return fault;
    if (target?.split('?', 1)[0] !== '/metrics') return 'route_not_found';
    return method === 'GET' || method === 'HEAD' ? undefined : 'method_not_allowed';
  }

  const server = createServer(SERVER_OPTIONS, async (request, response) => {
    stopReading(request.socket);
    response.setHeader('Connection', 'close');
    const fail = (code: ErrorCode) => {
      const error = errorObject(code);
      response.statusCode = error.status;
      response.setHeader('Content-Type', 'application/json');
      response.setHeader('Allow', 'GET, HEAD');
      response.end(JSON.stringify(error));
    };
    const refusal = refusalOf(readRequest(request));
    if (refusal !== undefined) return fail(refusal);
    try {
      const metrics = await sharedText();
      response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8').end(metrics);
    } catch {
      fail('internal_error');
    }
  });
  server.maxConnections = MOST_CONNECTIONS;
  return server;
}
