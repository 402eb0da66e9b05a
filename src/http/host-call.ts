/**
 * Maps each error that came from the embedding program (its store, its limiter, or a function such
 * as `authenticate`) to a text such as `store.list failed`.
 */
const hostErrors = new WeakMap<object, string>();

/**
 * Returns what failed, if the error came from the embedding program. Returns `undefined` if the
 * service itself failed.
 */
export function hostFailure(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null ? hostErrors.get(error) : undefined;
}

/** Records that an error came from the embedding program, and throws the error. */
export function failHost(what: string, error: unknown): never {
  const thrown = typeof error === 'object' && error !== null ? error : new Error(String(error), { cause: error });
  if (!hostErrors.has(thrown)) hostErrors.set(thrown, what);
  throw thrown;
}

/**
 * Calls a function of the embedding program, such as `store.list`. If the function throws, records
 * that the error came from there.
 */
export function hostCall<T>(part: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    return failHost(`${part} failed`, error);
  }
}

/**
 * Passes the result of an asynchronous function of the embedding program to `next`. If `promise`
 * rejects, records that the error came from there. An error of `next` is not recorded.
 */
export function afterHost<T, R>(part: string, promise: Promise<T>, next: (value: T) => R | Promise<R>): Promise<R> {
  return Promise.resolve(promise).then(next, (error: unknown) => failHost(`${part} failed`, error));
}

/**
 * Yields the items of the store's stream. If the stream throws an error, records that the error
 * came from the store.
 */
export async function* hostStream<T>(stream: AsyncIterable<T>): AsyncGenerator<T, undefined> {
  try {
    yield* stream;
  } catch (error) {
    failHost('store.list failed', error);
  }
}

/**
 * Yields the items of the store's list. If the list throws an error, records that the error came
 * from the store.
 */
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
