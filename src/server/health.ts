import { checkFunction } from '../check.js';
import type { ErrorCode, OpenPath } from '../http/index.js';

/** The states of a backend, the best first. */
export const BACKEND_STATES = ['ok', 'degraded', 'unavailable'] as const;

/** In the state `degraded`, the server works without the backend as far as possible. */
export type BackendState = (typeof BACKEND_STATES)[number];

/**
 * For each backend, by its name, a function that returns its state. The server is not ready if a
 * function throws, rejects, or returns anything but `ok` or `degraded`. While a function has not
 * settled, `/readyz` does not respond, which probes take for not ready.
 */
export type Backends = Readonly<Record<string, () => BackendState | Promise<BackendState>>>;

/** Throws a TypeError that names the backend if its value is not a function. */
export function checkBackends(backends: Backends): void {
  if (typeof backends !== 'object' || backends === null) {
    throw new TypeError('backends: expected an object with a function for each backend');
  }
  for (const [name, check] of Object.entries(backends)) checkFunction(`backends.${name}`, check);
}

/**
 * Creates `/healthz`, which reports that the process responds, and `/readyz`, which reports whether
 * the process accepts requests and every backend is available (200, otherwise 503).
 */
export function createProbes(backends: Backends, isDraining: () => boolean): Readonly<Record<string, OpenPath>> {
  let readiness: ReturnType<typeof checkReadiness> | undefined;

  /** Checks the backends once for all concurrent probes. */
  function sharedReadiness(): ReturnType<typeof checkReadiness> {
    readiness ??= checkReadiness(backends, isDraining).finally(() => {
      readiness = undefined;
    });
    return readiness;
  }

  return {
    '/healthz': { isAlwaysServed: true, perform: () => jsonOutcome(200, { status: 'ok' }) },
    '/readyz': { isAlwaysServed: true, perform: sharedReadiness },
  };
}

function jsonOutcome(status: number, object: object, ...fields: readonly string[]) {
  const type = ['Content-Type', 'application/json', 'Cache-Control', 'no-store'];
  return { status, fields: [...type, ...fields], body: JSON.stringify(object) };
}

async function checkReadiness(backends: Backends, isDraining: () => boolean) {
  const states = await Promise.all(
    Object.entries(backends).map(async ([name, check]) => [name, await stateOf(check)] as const),
  );
  const isReady = !isDraining() && states.every(([, state]) => state !== 'unavailable');
  const report = { backends: Object.fromEntries(states) };
  if (isReady) return jsonOutcome(200, { status: 'ok', ...report });
  const code: ErrorCode = 'service_unavailable';
  const error = { code, message: 'The server is not ready. Ask again in a moment.', status: 503, ...report };
  return { ...jsonOutcome(503, error, 'Retry-After', '1'), code };
}

/** Resolves to the state of a backend: `unavailable` if its function throws, rejects or returns another value. */
export async function stateOf(check: Backends[string]): Promise<BackendState> {
  try {
    const state = await check();
    return BACKEND_STATES.find((known) => known === state) ?? 'unavailable';
  } catch {
    return 'unavailable';
  }
}
