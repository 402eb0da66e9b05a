import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Answers `GET /healthz` (the process answers) and `GET /readyz` (it takes requests: 200, else 503), without a key and
 * outside the base path: for probes. Anything else is not its own, and gives `false`.
 */
export function answerHealth(request: IncomingMessage, response: ServerResponse, isReady: () => boolean): boolean {
  const { method, url } = request;
  if (url !== '/healthz' && url !== '/readyz') return false;
  if (method !== 'GET' && method !== 'HEAD') {
    send(response, 405, 'method not allowed', ['Allow', 'GET, HEAD']);
  } else if (url === '/readyz' && !isReady()) {
    send(response, 503, 'unavailable', ['Retry-After', '1']);
  } else {
    send(response, 200, 'ok', []);
  }
  return true;
}

function send(response: ServerResponse, httpStatus: number, status: string, fields: readonly string[]): void {
  const body = JSON.stringify({ status });
  const headers = ['Content-Type', 'application/json', 'Content-Length', `${body.length}`, 'Cache-Control', 'no-store'];
  response.writeHead(httpStatus, [...headers, ...fields]);
  // Node itself leaves the body out when the method is HEAD.
  response.end(body, 'latin1');
}
