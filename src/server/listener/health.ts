import type { Reply } from '../../http/reply.js';

/** `degraded`: requests are answered correctly, as well as that works without the backend. */
export type BackendState = 'ok' | 'degraded' | 'unavailable';

/** The state of each backend, by name. One that throws, rejects or is `unavailable` makes the server not ready. */
export type Backends = Readonly<Record<string, () => BackendState | Promise<BackendState>>>;

export type Probe = (method: string | undefined) => Reply | Promise<Reply>;

/** By path. */
export type Probes = ReadonlyMap<string, Probe>;

/** `/healthz`: the process answers. `/readyz`: it takes requests, and every backend is there (200, else 503). */
export function createProbes(backends: Backends, isDraining: () => boolean): Probes {
  let readiness: Promise<Reply> | undefined;

  /** However many probes ask at once, the backends are asked once. */
  function sharedReadiness(): Promise<Reply> {
    readiness ??= readinessReply(backends, isDraining).finally(() => {
      readiness = undefined;
    });
    return readiness;
  }

  const isAllowed = (method: string | undefined) => method === 'GET' || method === 'HEAD';
  return new Map([
    ['/healthz', (method) => (isAllowed(method) ? HEALTHY : METHOD_NOT_ALLOWED)],
    ['/readyz', (method) => (isAllowed(method) ? sharedReadiness() : METHOD_NOT_ALLOWED)],
  ]);
}

const HEALTHY = reply(200, { status: 'ok' });
const METHOD_NOT_ALLOWED = reply(405, { status: 'method not allowed' }, ['Allow', 'GET, HEAD']);

async function readinessReply(backends: Backends, isDraining: () => boolean): Promise<Reply> {
  const states = await Promise.all(
    Object.entries(backends).map(async ([name, state]) => [name, await stateOf(state)] as const),
  );
  const isReady = !isDraining() && states.every(([, state]) => state !== 'unavailable');
  const content = { status: isReady ? 'ok' : 'unavailable', backends: Object.fromEntries(states) };
  return reply(isReady ? 200 : 503, content, isReady ? [] : ['Retry-After', '1']);
}

export async function stateOf(state: Backends[string]): Promise<BackendState> {
  try {
    return await state();
  } catch {
    return 'unavailable';
  }
}

function reply(status: number, content: object, fields: readonly string[] = []): Reply {
  const body = JSON.stringify(content);
  const headers = ['Content-Type', 'application/json', 'Content-Length', `${body.length}`, 'Cache-Control', 'no-store'];
  return { status, headers: [...headers, ...fields], body };
}
