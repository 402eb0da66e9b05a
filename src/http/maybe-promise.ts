import type { MaybePromise } from '../orders/index.js';

/** Passes a value to `next`, at once if it is not a promise. */
export function after<T, R>(value: MaybePromise<T>, next: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** Runs a step. If it throws or rejects, returns the result of `recover`. */
export function attempt<T, R>(
  step: () => MaybePromise<T>,
  recover: (error: unknown) => MaybePromise<R>,
): MaybePromise<T | R> {
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
