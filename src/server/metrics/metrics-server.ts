import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/**
 * Creates a server that responds to `/metrics` with the result of `text`. The caller must call
 * `listen`, with a port that clients of the service cannot reach. Concurrent requests share one
 * call of `text`.
 */
export function createMetricsServer(text: () => Promise<string>): Server {
  let pending: Promise<string> | undefined;

  function sharedText(): Promise<string> {
    pending ??= text().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  async function answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    const isRead = method === 'GET' || method === 'HEAD';
    if (!isRead || url?.replace(/\?.*$/, '') !== '/metrics') {
      response
        .writeHead(isRead ? 404 : 405, isRead ? {} : { Allow: 'GET, HEAD' })
        .end('The metrics are at GET /metrics.\n');
      return;
    }
    const content = Buffer.from(await sharedText());
    const type = 'text/plain; version=0.0.4; charset=utf-8';
    response.writeHead(200, { 'Content-Type': type, 'Content-Length': content.length, 'Cache-Control': 'no-store' });
    response.end(method === 'HEAD' ? undefined : content);
  }

  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 }, (request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end());
  });
  server.maxConnections = 32;
  return server;
}
