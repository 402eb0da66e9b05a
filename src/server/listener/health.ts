import { checkFunction } from '../../http/options.js';
import type { Outcome } from '../../http/reply.js';

/** In the state `degraded`, the server works without the backend as far as possible. */
export type BackendState = 'ok' | 'degraded' | 'unavailable';

/**
 * For each backend, by its name, a function that returns its state. The server is not ready if a
 * function throws, rejects or returns `unavailable`.
 */
export type Backends = Readonly<Record<string, () => BackendState | Promise<BackendState>>>;

/** Throws a TypeError that names the backend if its value is not a function. */
export function checkBackends(backends: Backends): void {
  if (typeof backends !== 'object' || backends === null) {
    throw new TypeError('backends: expected an object with a function for each backend');
  }
  for (const [name, state] of Object.entries(backends)) checkFunction(`backends.${name}`, state);
}

export type Probe = (method: string | undefined) => Outcome | Promise<Outcome>;

/** The functions that respond to health checks, by path. */
export type Probes = ReadonlyMap<string, Probe>;

/**
 * Creates `/healthz`, which reports that the process responds, and `/readyz`, which reports whether
 * the process accepts requests and every backend is available (200, otherwise 503).
 */
export function createProbes(backends: Backends, isDraining: () => boolean): Probes {
  let readiness: Promise<Outcome> | undefined;

  /** Checks the backends once for all concurrent probes. */
  function sharedReadiness(): Promise<Outcome> {
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

async function readinessReply(backends: Backends, isDraining: () => boolean): Promise<Outcome> {
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

function reply(status: number, content: object, fields: readonly string[] = []): Outcome {
  const body = JSON.stringify(content);
  const headers = ['Content-Type', 'application/json', 'Content-Length', `${body.length}`, 'Cache-Control', 'no-store'];
  return { status, headers: [...headers, ...fields], body };
}
