import { checkFunction } from '../../check.js';

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

/** The result of a health check. The response to a failed one is a 503. */
export interface Health {
  readonly isOk: boolean;
  /** The state of each backend, by its name. */
  readonly backends?: Readonly<Record<string, BackendState>>;
}

/** The health checks, by path. */
export type Probes = ReadonlyMap<string, () => Health | Promise<Health>>;

/**
 * Creates `/healthz`, which reports that the process responds, and `/readyz`, which reports whether
 * the process accepts requests and every backend is available (200, otherwise 503).
 */
export function createProbes(backends: Backends, isDraining: () => boolean): Probes {
  let readiness: Promise<Health> | undefined;

  /** Checks the backends once for all concurrent probes. */
  function sharedReadiness(): Promise<Health> {
    readiness ??= checkReadiness(backends, isDraining).finally(() => {
      readiness = undefined;
    });
    return readiness;
  }

  return new Map<string, () => Health | Promise<Health>>([
    ['/healthz', () => ({ isOk: true })],
    ['/readyz', sharedReadiness],
  ]);
}

async function checkReadiness(backends: Backends, isDraining: () => boolean): Promise<Health> {
  const states = await Promise.all(
    Object.entries(backends).map(async ([name, state]) => [name, await stateOf(state)] as const),
  );
  const isOk = !isDraining() && states.every(([, state]) => state !== 'unavailable');
  return { isOk, backends: Object.fromEntries(states) };
}

export async function stateOf(state: Backends[string]): Promise<BackendState> {
  try {
    return await state();
  } catch {
    return 'unavailable';
  }
}
