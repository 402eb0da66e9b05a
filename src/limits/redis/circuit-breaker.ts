export interface BreakerOptions {
  /** A call unanswered this long has failed. */
  readonly patienceMs: number;
  /** Asks whether the backend does its work again. */
  readonly probe: () => Promise<unknown>;
  /** Called at each change, with what failed or, when all is well again, without. */
  readonly onChange: (error?: unknown) => void;
}

/** Keeps a failing backend from being waited for. */
export interface Breaker {
  /**
   * Resolves or rejects as the call does, or rejects when it has failed to answer in time. A failure opens the breaker;
   * a call that was late has all that wait with it given up, since they are behind it.
   */
  run<T>(call: () => Promise<T>): Promise<T>;
  /** Why calls are not to be made now, if so. Asking is what has the backend probed, once a second: nobody waits for that. */
  failure(): { readonly error: unknown } | undefined;
}

const PROBE_EVERY_MS = 1_000;

export function createBreaker({ patienceMs, probe, onChange }: BreakerOptions): Breaker {
  /** In the order in which they were made. */
  const pending = new Set<{ readonly sinceMs: number; readonly giveUp: (error: unknown) => void }>();
  let isTimed = false;
  let failed: { readonly error: unknown } | undefined;
  let probeAtMs = 0;

  function open(error: unknown): void {
    if (failed !== undefined) return;
    failed = { error };
    probeAtMs = performance.now() + PROBE_EVERY_MS;
    onChange(error);
  }

  function watch(afterMs: number): void {
    isTimed = true;
    // Answers that have arrived while this process was busy are read before anybody is given up.
    setTimeout(() => setImmediate(giveUpTheLate), afterMs).unref();
  }

  function giveUpTheLate(): void {
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

  function run<T>(call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = { sinceMs: performance.now(), giveUp: reject };
      pending.add(waiting);
      if (!isTimed) watch(patienceMs);
      call().then(
        (value) => {
          pending.delete(waiting);
          resolve(value);
        },
        (error) => {
          // One that was given up has failed already.
          if (pending.delete(waiting)) open(error);
          reject(error);
        },
      );
    });
  }

  async function probeOnce(): Promise<void> {
    probeAtMs = Number.POSITIVE_INFINITY;
    try {
      await run(probe);
      failed = undefined;
      onChange();
    } catch {
      probeAtMs = performance.now() + PROBE_EVERY_MS;
    }
  }

  return {
    run,
    failure() {
      if (failed !== undefined && performance.now() >= probeAtMs) void probeOnce();
      return failed;
    },
  };
}
