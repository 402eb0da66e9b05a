import { AsyncResource } from 'node:async_hooks';

/**
 * The asynchronous context of a caller: what the host keeps in an AsyncLocalStorage, such as a
 * tenant, and the span of its tracer.
 */
export type Context = Pick<AsyncResource, 'runInAsyncScope'>;

export function currentContext(): Context {
  return new AsyncResource('StoreOrders');
}

/**
 * Returns the context in which these calls are carried out together: that of the only call, or
 * `shared`, so that no caller's work runs in the context of another.
 */
export function contextOf(calls: readonly { readonly context: Context }[], shared: Context): Context {
  const [first, second] = calls;
  return first !== undefined && second === undefined ? first.context : shared;
}
