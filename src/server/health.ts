import { AsyncResource } from 'node:async_hooks';
import { inspect } from 'node:util';
import { checkFunction } from '../check.js';
import type { ErrorCode, OpenPath } from '../http/index.js';
import { messageOf } from '../message-of.js';

/** For how long probes get the same states. A probe needs no key, but asks every backend. */
const SHARED_MS = 100;
/** Without this limit, a function that never settles would not be called again. */
const LIMIT_MS = 10_000;

/** The states of a backend, the best first. */
export const BACKEND_STATES = ['ok', 'degraded', 'unavailable'] as const;

/** In the state `degraded`, the server works without the backend as far as possible. */
export type BackendState = (typeof BACKEND_STATES)[number];

/**
 * For each backend, by its name, a function that returns its state. The server is not ready if a
 * function throws, rejects, takes ten seconds, or returns anything but `ok` or `degraded`. The
 * diagnostics channel gets the reason. Probes within a tenth of a second share one call.
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
  let readings: ReturnType<typeof readAll> | undefined;
  let freshUntilMs = 0;

  // Not in the context of the first probe.
  const readForAll = AsyncResource.bind(readAll);

  /** Asks the backends once for all probes that are concurrent or close to each other. */
  function sharedReadings(): ReturnType<typeof readAll> {
    if (readings !== undefined && performance.now() < freshUntilMs) return readings;
    freshUntilMs = Number.POSITIVE_INFINITY;
    readings = readForAll(backends).finally(() => {
      freshUntilMs = performance.now() + SHARED_MS;
    });
    return readings;
  }

  return {
    '/healthz': { isAlwaysServed: true, perform: () => jsonOutcome(200, { status: 'ok' }) },
    '/readyz': { isAlwaysServed: true, perform: async () => readinessOutcome(await sharedReadings(), isDraining()) },
  };
}

function jsonOutcome(status: number, object: object, ...fields: readonly string[]) {
  const type = ['Content-Type', 'application/json', 'Cache-Control', 'no-store'];
  return { status, fields: [...type, ...fields], body: JSON.stringify(object) };
}

async function readAll(backends: Backends): Promise<readonly (readonly [name: string, reading: BackendReading])[]> {
  return Promise.all(Object.entries(backends).map(async ([name, check]) => [name, await readBackend(check)] as const));
}

function readinessOutcome(readings: Awaited<ReturnType<typeof readAll>>, isDraining: boolean) {
  const report = { backends: Object.fromEntries(readings.map(([name, { state }]) => [name, state])) };
  const isReady = !isDraining && readings.every(([, { state }]) => state !== 'unavailable');
  if (isReady) return jsonOutcome(200, { status: 'ok', ...report });
  const code: ErrorCode = 'service_unavailable';
  const body = { code, message: 'The server is not ready. Ask again in a moment.', status: 503, ...report };
  const failures = readings.flatMap(([name, { error }]) => (error === undefined ? [] : `${name}: ${messageOf(error)}`));
  const error = failures.length === 0 ? undefined : new Error(failures.join('; '));
  return { ...jsonOutcome(503, body, 'Retry-After', '1'), code, error };
}

export interface BackendReading {
  readonly state: BackendState;
  /** Why the function failed. */
  readonly error?: unknown;
}

/** Resolves to the state of a backend. It is `unavailable` if its function fails or takes too long. */
export async function readBackend(check: Backends[string]): Promise<BackendReading> {
  try {
    const returned = await Promise.race([
      check(),
      new Promise((_, reject) => setTimeout(reject, LIMIT_MS, new Error('no state within ten seconds')).unref()),
    ]);
    const state = BACKEND_STATES.find((known) => known === returned);
    if (state !== undefined) return { state };
    throw new TypeError(`expected one of ${BACKEND_STATES.join(', ')}, but its function returned ${inspect(returned)}`);
  } catch (error) {
    return { state: 'unavailable', error };
  }
}
