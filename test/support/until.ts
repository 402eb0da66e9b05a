/** Return what the programs that now run have printed, for the message of a wait in vain. */
export const reports = new Set<() => string>();

/** Waits until a condition holds. Fails after `withinMs`, which is long enough for a busy machine. */
export async function until(holds: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const startMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - startMs > withinMs) {
      const printed = Array.from(reports, (report) => report().slice(-2_000));
      throw new Error([`not true within ${withinMs} ms: ${holds}`, ...printed].join('\n'));
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A promise, and the function that resolves it. Node.js 20 has no `Promise.withResolvers`. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

export function createDeferred<T = void>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
