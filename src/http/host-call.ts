/** Errors that parts of the host threw or rejected with. */
const hostErrors = new WeakSet<object>();

/** Reports whether the error came from a part of the host rather than the service. */
export function isHostError(error: unknown): boolean {
  return typeof error === 'object' && error !== null && hostErrors.has(error);
}

function failHost(error: unknown): never {
  const thrown = typeof error === 'object' && error !== null ? error : new Error(String(error), { cause: error });
  hostErrors.add(thrown);
  throw thrown;
}

/**
 * Calls a part of the host and passes its result to `next`, synchronously if it is not a promise.
 * Errors of the call are marked as the host's. Errors of `next` are not.
 */
export function hostCall<T, R>(call: () => T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  let result: T | Promise<T>;
  try {
    result = call();
  } catch (error) {
    return failHost(error);
  }
  return isPromise(result) ? Promise.resolve(result).then(next, failHost) : next(result);
}

/** Passes on a stream of the host, and marks its errors as the host's. */
export async function* hostStream<T>(stream: AsyncIterable<T>): AsyncGenerator<T, undefined> {
  try {
    yield* stream;
  } catch (error) {
    failHost(error);
  }
}

/** Passes on an iteration of the host, and marks its errors as the host's. */
export function* hostItems<T>(items: Iterable<T>): Generator<T, undefined> {
  try {
    yield* items;
  } catch (error) {
    failHost(error);
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
