/** What parts of the host threw or rejected with. */
const hostErrors = new WeakSet<object>();

/** Whether a part of the host has failed, and not the service. */
export function isHostError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && hostErrors.has(error);
}

function failHost(error: unknown): never {
  const thrown = typeof error === 'object' && error !== null ? error : new Error(String(error), { cause: error });
  hostErrors.add(thrown);
  throw thrown;
}

/** Calls a part of the host. What it throws is known as the host's from then on. */
export function hostCall<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    return failHost(error);
  }
}

/**
 * Goes on with what a part of the host promised. What it rejects with is known as the host's from
 * then on; what fails in `next` is not.
 */
export function afterHost<T, R>(promise: Promise<T>, next: (value: T) => R | Promise<R>): Promise<R> {
  return Promise.resolve(promise).then(next, failHost);
}

/** What a part of the host streams, its failures known as the host's. */
export async function* hostStream<T>(stream: AsyncIterable<T>): AsyncGenerator<T, undefined> {
  try {
    yield* stream;
  } catch (error) {
    failHost(error);
  }
}

/** What a part of the host iterates over, its failures known as the host's. */
export function* hostItems<T>(items: Iterable<T>): Generator<T, undefined> {
  try {
    yield* items;
  } catch (error) {
    failHost(error);
  }
}

/**
 * Whether it is still to come. Query builders are often thenables that promise less than a promise
 * does: a caller that waits for one makes it a promise.
 */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  if (typeof value !== 'object' || value === null) return false;
  const { then }: { readonly then?: unknown } = value;
  return typeof then === 'function';
}
