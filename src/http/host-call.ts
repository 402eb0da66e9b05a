/**
 * The errors of the host's parts (store, limiter, `authenticate`), each with the part that failed.
 */
const hostErrors = new WeakMap<object, string>();

/** Returns which part of the host failed, in words, or `undefined` if the service itself failed. */
export function hostFailure(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null ? hostErrors.get(error) : undefined;
}

/** Marks an error as the host's and throws it. */
export function failHost(what: string, error: unknown): never {
  const thrown = typeof error === 'object' && error !== null ? error : new Error(String(error), { cause: error });
  if (!hostErrors.has(thrown)) hostErrors.set(thrown, what);
  throw thrown;
}

/** Calls a part of the host. An error that it throws is marked as the host's. */
export function hostCall<T>(part: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    return failHost(`${part} failed`, error);
  }
}

/**
 * Passes the result of a part of the host to `next`. A rejection of `promise` is marked as the
 * host's, but an error of `next` is not.
 */
export function afterHost<T, R>(part: string, promise: Promise<T>, next: (value: T) => R | Promise<R>): Promise<R> {
  return Promise.resolve(promise).then(next, (error: unknown) => failHost(`${part} failed`, error));
}

/** Passes on a list that the store streams, and marks errors of the stream as the host's. */
export async function* hostStream<T>(stream: AsyncIterable<T>): AsyncGenerator<T, undefined> {
  try {
    yield* stream;
  } catch (error) {
    failHost('store.list failed', error);
  }
}

/** Passes on the items of the store's list, and marks errors of the iteration as the host's. */
export function* hostItems<T>(items: Iterable<T>): Generator<T, undefined> {
  try {
    yield* items;
  } catch (error) {
    failHost('store.list failed', error);
  }
}

/**
 * Reports whether the value is a promise or another thenable. A query builder is often a thenable
 * without `catch`, so `afterHost` converts it to a promise.
 */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  if (typeof value !== 'object' || value === null) return false;
  const { then }: { readonly then?: unknown } = value;
  return typeof then === 'function';
}
