export interface CircuitBreakerOptions {
  /** Milliseconds after which a call without a reply counts as failed. */
  readonly deadlineMs: number;
  /** Resolves if the server works again. */
  readonly probe: () => Promise<unknown>;
  /** Called with the error when the circuit opens, and with no argument when it closes. */
  readonly onChange: (error?: unknown) => void;
}

const FAILURES_IN_A_ROW = 3;
const PROBE_EVERY_MS = 1_000;

/**
 * Limits how long calls wait for a server, and stops calls to a failing one. The circuit opens
 * after three failures in a row. A failure counts only if its call was sent after the previous
 * failure was noticed, because one pause of the server makes all calls in flight late.
 */
export function createCircuitBreaker({ deadlineMs, probe, onChange }: CircuitBreakerOptions) {
  let sent = 0;
  /** How many calls had been sent when the last failure was noticed. */
  let sentBefore = 0;
  let failures = 0;
  let failure: { readonly error: unknown } | undefined;
  let probeAtMs = 0;

  function noteFailure(call: number, error: unknown): void {
    if (failure !== undefined || call <= sentBefore) return;
    sentBefore = sent;
    failures++;
    if (failures < FAILURES_IN_A_ROW) return;
    failure = { error };
    probeAtMs = performance.now() + PROBE_EVERY_MS;
    onChange(error);
  }

  /**
   * Settles as `reply.then(done, failed)` would. If `reply` does not settle before the deadline, it
   * counts as failed.
   */
  function run<T, R>(reply: Promise<T>, done: (value: T) => R, failed: (error: unknown) => R): Promise<R> {
    const call = ++sent;
    return new Promise((resolve, reject) => {
      let isOver = false;
      // `setImmediate` lets Node.js first read replies that arrived while this process was busy.
      const timer = setTimeout(() => setImmediate(fail, new Error(`no reply within ${deadlineMs} ms`)), deadlineMs);

      function fail(error: unknown): void {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        try {
          resolve(failed(error));
        } catch (rethrown) {
          reject(rethrown);
        }
        // This comes last, so that the request is decided even if `onChange` throws.
        noteFailure(call, error);
      }

      reply.then((value) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        failures = 0;
        resolve(done(value));
      }, fail);
    });
  }

  async function probeOnce(): Promise<void> {
    probeAtMs = Number.POSITIVE_INFINITY;
    try {
      await run(probe(), () => {}, rethrow);
      failure = undefined;
      onChange();
    } catch {
      probeAtMs = performance.now() + PROBE_EVERY_MS;
    }
  }

  return {
    run,

    /**
     * Returns `undefined` if the server can be called. Otherwise returns the server's error, and
     * starts a probe at most once a second.
     */
    failure(): { readonly error: unknown } | undefined {
      if (failure !== undefined && performance.now() >= probeAtMs) void probeOnce();
      return failure;
    },
  };
}

/** For calls that have no fallback. */
export function rethrow(error: unknown): never {
  throw error;
}
