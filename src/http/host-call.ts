/** Errors that parts of the host threw or rejected with, each with the part that failed. */
const hostErrors = new WeakMap<object, string>();

/** Returns the part of the host that failed, in words, or `undefined` if the service failed. */
export function hostFailure(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null ? hostErrors.get(error) : undefined;
}

/** Throws an error, marked as the host's. */
export function failHost(what: string, error: unknown): never {
  const thrown = typeof error === 'object' && error !== null ? error : new Error(String(error), { cause: error });
  if (!hostErrors.has(thrown)) hostErrors.set(thrown, what);
  throw thrown;
}

/** Calls a part of the host. An error of the call is marked as the host's. */
export function hostCall<T>(part: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    return failHost(`${part} failed`, error);
  }
}

/**
 * Passes the result of a part of the host to `next`. A rejection of the promise is marked as the
 * host's. Errors of `next` are not.
 */
export function afterHost<T, R>(part: string, promise: Promise<T>, next: (value: T) => R | Promise<R>): Promise<R> {
  return Promise.resolve(promise).then(next, (error: unknown) => failHost(`${part} failed`, error));
}

/** Passes on a stream of the store, and marks its errors as the host's. */
export async function* hostStream<T>(stream: AsyncIterable<T>): AsyncGenerator<T, undefined> {
  try {
    yield* stream;
  } catch (error) {
    failHost('store.list failed', error);
  }
}

/** Passes on an iteration of the store, and marks its errors as the host's. */
export function* hostItems<T>(items: Iterable<T>): Generator<T, undefined> {
  try {
    yield* items;
  } catch (error) {
    failHost('store.list failed', error);
  }
}

/**
 * Reports whether the value is still to come. Query builders are often thenables that offer less
 * than a promise does, so callers that await one convert it to a promise.
 */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  if (typeof value !== 'object' || value === null) return false;
  const { then }: { readonly then?: unknown } = value;
  return typeof then === 'function';
}
