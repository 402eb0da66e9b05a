import { createServer, type Server } from 'node:http';
import { stopReading } from '../../http/mounts/pipelining.js';

const SERVER_OPTIONS = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 2_000 };
const MOST_CONNECTIONS = 4;

/**
 * Creates a server that responds to `/metrics` with the result of `text`. Every other response is
 * one line of text. The caller must call `listen`, with a port that clients of the service cannot
 * reach. Concurrent requests share one call of `text`. A connection is closed after one response,
 * and nothing that the client has pipelined is read.
 */
export function createMetricsServer(text: () => Promise<string>): Server {
  let pending: Promise<string> | undefined;

  function sharedText(): Promise<string> {
    pending ??= text().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  async function answer(path: string | undefined, method: string | undefined): Promise<[status: number, body: string]> {
    if (path !== '/metrics') return [404, 'The metrics are at GET /metrics.\n'];
    if (method !== 'GET' && method !== 'HEAD') return [405, 'The metrics support GET and HEAD.\n'];
    try {
      return [200, await sharedText()];
    } catch {
      return [500, 'The metrics could not be read.\n'];
    }
  }

  const server = createServer(SERVER_OPTIONS, async ({ url, method, socket }, response) => {
    stopReading(socket);
    const [status, body] = await answer(url?.split('?', 1)[0], method);
    const type = status === 200 ? 'text/plain; version=0.0.4; charset=utf-8' : 'text/plain; charset=utf-8';
    response.writeHead(status, { 'Content-Type': type, Allow: 'GET, HEAD', Connection: 'close' }).end(body);
  });
  server.maxConnections = MOST_CONNECTIONS;
  return server;
}
