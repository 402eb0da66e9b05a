export interface CircuitBreakerOptions {
  /** A call has failed that is unanswered for this long. */
  readonly patienceMs: number;
  /** Asks whether the server works again. */
  readonly probe: () => Promise<unknown>;
  /** Called at each change: with the failure, or without when the server works again. */
  readonly onChange: (error?: unknown) => void;
}

/** Keeps a failing server from being waited for. */
export interface CircuitBreaker {
  /**
   * Settles as `asked.then(done, failed)` would, or as `failed` does when the call is late. A failure
   * opens the circuit. A late call fails all calls in flight, since they are behind it.
   */
  run<T>(asked: Promise<T>, done?: (value: T) => T, failed?: (error: unknown) => T): Promise<T>;
  /** Why the server is not to be called now, if so. Asking has it probed once a second, in passing. */
  failure(): { readonly error: unknown } | undefined;
}

const PROBE_EVERY_MS = 1_000;

export function createCircuitBreaker({ patienceMs, probe, onChange }: CircuitBreakerOptions): CircuitBreaker {
  /** In the order in which they were made. */
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
    // Answers that arrived while this process was busy are read first.
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
    const error = new Error(`no answer within ${patienceMs} ms`);
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
          // A call that was late has failed before.
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
