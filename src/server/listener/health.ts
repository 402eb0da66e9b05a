import type { IncomingMessage, ServerResponse } from 'node:http';

/** `degraded`: requests are answered as they should be, as well as it can be done without it. */
export type BackendState = 'ok' | 'degraded' | 'unavailable';

/** What a server stands on, by name. Each tells how it is; one that throws, rejects or is `unavailable` is out of order. */
export type Backends = Readonly<Record<string, () => BackendState | Promise<BackendState>>>;

/**
 * Answers `GET /healthz` (the process answers) and `GET /readyz` (it takes requests, and every backend is there: 200,
 * else 503), without a key and outside the base path: for probes. Anything else is not its own, and gives `false`.
 */
export function answerHealth(
  request: IncomingMessage,
  response: ServerResponse,
  isDraining: boolean,
  backends: Backends,
): boolean {
  const { method, url } = request;
  if (url !== '/healthz' && url !== '/readyz') return false;
  if (method !== 'GET' && method !== 'HEAD') {
    send(response, 405, { status: 'method not allowed' }, ['Allow', 'GET, HEAD']);
  } else if (url === '/healthz') {
    send(response, 200, { status: 'ok' });
  } else {
    void answerReadiness(response, isDraining, backends);
  }
  return true;
}

async function answerReadiness(response: ServerResponse, isDraining: boolean, backends: Backends): Promise<void> {
  const states = await Promise.all(
    Object.entries(backends).map(async ([name, state]) => [name, await stateOf(state)] as const),
  );
  const isReady = !isDraining && states.every(([, state]) => state !== 'unavailable');
  const body = { status: isReady ? 'ok' : 'unavailable', backends: Object.fromEntries(states) };
  send(response, isReady ? 200 : 503, body, isReady ? [] : ['Retry-After', '1']);
}

async function stateOf(state: Backends[string]): Promise<BackendState> {
  try {
    return await state();
  } catch {
    return 'unavailable';
  }
}

function send(response: ServerResponse, httpStatus: number, content: object, fields: readonly string[] = []): void {
  const body = JSON.stringify(content);
  const headers = ['Content-Type', 'application/json', 'Content-Length', `${body.length}`, 'Cache-Control', 'no-store'];
  response.writeHead(httpStatus, [...headers, ...fields]);
  // Node itself leaves the body out when the method is HEAD.
  response.end(body, 'latin1');
}
