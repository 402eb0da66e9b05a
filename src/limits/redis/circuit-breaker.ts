export interface CircuitBreakerOptions {
  /** Milliseconds after which a call without a reply counts as failed. */
  readonly patienceMs: number;
  /** Resolves if the server works again. */
  readonly probe: () => Promise<unknown>;
  /**
   * Called with the error when the server begins to fail, and with no argument when it works again.
   */
  readonly onChange: (error?: unknown) => void;
}

/** Stops calls to a failing server, so that requests need not wait for it. */
export interface CircuitBreaker {
  /**
   * Settles as `asked.then(done, failed)` would. If `asked` does not settle within `patienceMs`, it
   * counts as failed. After a failure, `failure()` returns the error until a call of `probe`
   * succeeds. When one call is late, all calls in flight count as failed, because the server
   * replies in order.
   */
  run<T>(asked: Promise<T>, done?: (value: T) => T, failed?: (error: unknown) => T): Promise<T>;
  /**
   * Returns `undefined` if the server can be called. Otherwise returns the server's error, and
   * starts a probe at most once a second.
   */
  failure(): { readonly error: unknown } | undefined;
}

const PROBE_EVERY_MS = 1_000;

export function createCircuitBreaker({ patienceMs, probe, onChange }: CircuitBreakerOptions): CircuitBreaker {
  /** The calls in flight, in the order in which they were sent. */
  const pending = new Set<{ readonly sinceMs: number; readonly giveUp: (error: unknown) => void }>();
  let isTimed = false;
  let failure: { readonly error: unknown } | undefined;
  let probeAtMs = 0;

  function open(error: unknown): void {
    if (failure !== undefined) return;
    failure = { error };
    probeAtMs = performance.now() + PROBE_EVERY_MS;
    onChange(error);
  }

  function watch(afterMs: number): void {
    isTimed = true;
    // `setImmediate` lets Node.js first read replies that arrived while this process was busy.
    setTimeout(() => setImmediate(failTheLate), afterMs).unref();
  }

  function failTheLate(): void {
    isTimed = false;
    const [first] = pending;
    if (first === undefined) return;
    const leftMs = first.sinceMs + patienceMs - performance.now();
    if (leftMs > 0) {
      watch(Math.ceil(leftMs));
      return;
    }
    const error = new Error(`the server did not reply within ${patienceMs} ms`);
    const waiting = [...pending];
    pending.clear();
    open(error);
    for (const { giveUp } of waiting) giveUp(error);
  }

  function run<T>(asked: Promise<T>, done = asIs<T>, failed: (error: unknown) => T = rethrow): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = { sinceMs: performance.now(), giveUp };
      pending.add(waiting);
      if (!isTimed) watch(patienceMs);

      function giveUp(error: unknown): void {
        try {
          resolve(failed(error));
        } catch (failure) {
          reject(failure);
        }
      }

      asked.then(
        (value) => {
          if (pending.delete(waiting)) resolve(done(value));
        },
        (error) => {
          // A late call has already been treated as failed.
          if (!pending.delete(waiting)) return;
          open(error);
          giveUp(error);
        },
      );
    });
  }

  async function probeOnce(): Promise<void> {
    probeAtMs = Number.POSITIVE_INFINITY;
    try {
      await run(probe());
      failure = undefined;
      onChange();
    } catch {
      probeAtMs = performance.now() + PROBE_EVERY_MS;
    }
  }

  return {
    run,
    failure() {
      if (failure !== undefined && performance.now() >= probeAtMs) void probeOnce();
      return failure;
    },
  };
}

function asIs<T>(value: T): T {
  return value;
}

function rethrow(error: unknown): never {
  throw error;
}
