import type { MaybePromise } from '../orders/index.js';

/** A failure of the host: of its store, its limiter, or a function such as `authenticate`. */
export class HostFailure extends Error {
  constructor(what: string, error: unknown) {
    super(what, { cause: typeof error === 'object' && error !== null ? error : new Error(String(error)) });
  }
}

/** Calls a function of the host. If it throws or rejects, the error is a {@link HostFailure}. */
export function callHost<T>(part: string, call: () => MaybePromise<T>): MaybePromise<T> {
  return attempt(call, (error): never => {
    throw new HostFailure(`${part} failed`, error);
  });
}

/** Yields the pages of the store's list. An error of the store is a {@link HostFailure}. */
export async function* hostStream<T>(stream: AsyncIterable<T>): AsyncGenerator<T, undefined> {
  try {
    yield* stream;
  } catch (error) {
    throw new HostFailure('store.list failed', error);
  }
}

/** Passes a value to `next`, at once if it is not a promise. */
export function after<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** Runs a step. If it throws or rejects, returns the result of `recover`. */
export function attempt<T, R>(step: () => MaybePromise<T>, recover: (error: unknown) => R): MaybePromise<T | R> {
  try {
    const result = step();
    // The result can be a thenable that is not a promise, such as a query builder.
    return isPromise(result) ? Promise.resolve(result).catch(recover) : result;
  } catch (error) {
    return recover(error);
  }
}

/** Reports whether the value is a promise or another thenable. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  if (typeof value !== 'object' || value === null) return false;
  const { then }: { readonly then?: unknown } = value;
  return typeof then === 'function';
}
