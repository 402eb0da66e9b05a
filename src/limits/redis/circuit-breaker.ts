import { AsyncResource } from 'node:async_hooks';

export interface CircuitBreakerOptions {
  /** Milliseconds after which a call without a reply counts as failed. */
  readonly deadlineMs: number;
  /** Resolves if the server that stores the key works again. */
  readonly probe: (key: string) => Promise<unknown>;
  /** Called with the outage when the circuit opens, and with no argument when it closes. */
  readonly onChange: (outage?: Outage) => void;
}

/** The failed call that opened the circuit. In a cluster, the server of its key is the one to probe. */
export interface Outage {
  readonly key: string;
  readonly error: unknown;
}

const FAILURES_IN_A_ROW = 3;
const PROBE_EVERY_MS = 1_000;

/**
 * Limits how long calls wait for a server, and stops calls to a failing one. The circuit opens
 * after three failures in a row. A failure counts only if its call was sent after the previous
 * failure was noticed, because one pause of the server makes all calls in flight late. What is done
 * for all calls runs in the context in which the circuit breaker was created.
 */
export function createCircuitBreaker({ deadlineMs, ...options }: CircuitBreakerOptions) {
  const probe = AsyncResource.bind(options.probe);
  const onChange = AsyncResource.bind(options.onChange);
  let sent = 0;
  /** How many calls had been sent when the last failure was noticed. */
  let sentBefore = 0;
  let failures = 0;
  let outage: Outage | undefined;
  let probeAtMs = 0;

  function noteFailure(call: number, failure: Outage): void {
    if (outage !== undefined || call <= sentBefore) return;
    sentBefore = sent;
    failures++;
    if (failures < FAILURES_IN_A_ROW) return;
    outage = failure;
    probeAtMs = performance.now() + PROBE_EVERY_MS;
    onChange(failure);
  }

  /**
   * Settles as the reply to a call about `key`. If the reply does not settle before the deadline,
   * rejects, and the call counts as failed.
   */
  function watch<T>(key: string, reply: Promise<T>): Promise<T> {
    const call = ++sent;
    return new Promise((resolve, reject) => {
      let isOver = false;
      // `setImmediate` lets Node.js first read replies that arrived while this process was busy.
      const timer = setTimeout(() => setImmediate(fail, new Error(`no reply within ${deadlineMs} ms`)), deadlineMs);

      function fail(error: unknown): void {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        reject(error);
        // This comes last, so that the request is decided even if `onChange` throws.
        noteFailure(call, { key, error });
      }

      reply.then((value) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        failures = 0;
        resolve(value);
      }, fail);
    });
  }

  async function probeServer(key: string): Promise<void> {
    probeAtMs = Number.POSITIVE_INFINITY;
    try {
      await watch(key, probe(key));
      outage = undefined;
      onChange();
    } catch {
      probeAtMs = performance.now() + PROBE_EVERY_MS;
    }
  }

  return {
    watch,

    /**
     * Returns `undefined` if the server can be called. Otherwise returns the outage, and starts a
     * probe at most once a second.
     */
    outage(): Outage | undefined {
      if (outage !== undefined && performance.now() >= probeAtMs) void probeServer(outage.key);
      return outage;
    },
  };
}
