import { createServer, type Server } from 'node:http';
import { type ErrorCode, errorObject } from '../../http/index.js';
import { ifInstalled } from '../installed.js';
import { baseAddress } from './base-url.js';
import { addressOf, listen } from './listen.js';

/** Loads the metrics, which need an optional package. Rejects if it is not installed. */
export function loadMetrics(): Promise<typeof import('./metrics.js')> {
  return ifInstalled(import('./metrics.js'), 'the metrics library', 'prom-client');
}

/** Serves the metrics on a port of their own. Rejects if the server cannot listen there. */
export async function listenForMetrics(collect: () => Promise<string>, host: string, port = 0) {
  const server = createMetricsServer(collect);
  await listen(server, { host, port, flag: '--metrics-port' });
  const address = addressOf(server);
  const url = address && baseAddress(address, '/metrics');
  return { url, close: () => server.close().closeAllConnections() };
}

const SERVER_OPTIONS = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 2_000 };
const MOST_CONNECTIONS = 4;

/**
 * Creates a server that responds to `/metrics` with the result of `collect`. The caller must call
 * `listen`, with a port that clients of the service cannot reach. A connection is closed after one
 * response, and Node.js refuses pipelined requests with 503.
 */
export function createMetricsServer(collect: () => Promise<string>): Server {
  const server = createServer(SERVER_OPTIONS, async (request, response) => {
    const fail = (code: ErrorCode) => {
      const error = errorObject(code);
      response.statusCode = error.status;
      response.setHeader('Content-Type', 'application/json');
      response.setHeader('Allow', 'GET, HEAD');
      response.end(JSON.stringify(error));
    };
    if (request.url?.split('?', 1)[0] !== '/metrics') return fail('route_not_found');
    if (request.method !== 'GET' && request.method !== 'HEAD') return fail('method_not_allowed');
    try {
      const metrics = await collect();
      response.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8').end(metrics);
    } catch {
      fail('internal_error');
    }
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.maxRequestsPerSocket = 1;
  return server;
}
