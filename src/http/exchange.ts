import { channel } from 'node:diagnostics_channel';
import type { Plan } from '../limits/index.js';
import type { OrderId } from '../orders/index.js';
import type { ErrorCode } from './errors.js';
import type { Reply } from './reply.js';
import type { ReadHead } from './request-head.js';
import type { Route } from './route.js';

/** The client's address, or how to find it, asked only of a request without a valid key. */
export type ClientAddress = string | undefined | (() => string | undefined);

/** What is known of one request so far; each step adds to it, so that a failure anywhere still gets a true reply. */
export interface Exchange {
  readonly route: Route;
  readonly method: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly head: ReadHead;
  readonly clientAddress: ClientAddress;
  readonly startedMs: number;
  /** Whether a part of the host is being asked: what fails then is a 503, anything else a 500. */
  isAsking: boolean;
  operation?: 'listOrders' | 'cancelOrder';
  orderId?: OrderId;
  keyId?: string;
  plan?: Plan;
  /** The printed decision of the limiter. */
  limitFields?: string[];
  code?: ErrorCode;
  error?: unknown;
}

/**
 * Published on the `node:diagnostics_channel` named `store-orders:reply`, once for each reply, and once more, with its
 * `error`, for a list that failed after its reply had begun. Holds no secret.
 */
export interface ReplyMessage {
  readonly status: number;
  /** That of the Error object. */
  readonly code?: ErrorCode;
  /** The specification's operation name. */
  readonly operation?: 'listOrders' | 'cancelOrder';
  readonly orderId?: OrderId;
  /** The principal's id. */
  readonly keyId?: string;
  /** What a part of the host threw or rejected with, behind a 503 or a torn list, or the service itself, behind a 500. */
  readonly error?: unknown;
  /** From the request's head to the reply, not yet written. */
  readonly durationMs: number;
}

const replies = channel('store-orders:reply');

/** Nothing is measured or published when nobody listens. */
export function startedMs(): number {
  return replies.hasSubscribers ? performance.now() : 0;
}

export function publish(exchange: Exchange, status: number): void {
  if (!replies.hasSubscribers) return;
  const { code, operation, orderId, keyId, error } = exchange;
  const message: ReplyMessage = {
    status,
    ...(code !== undefined && { code }),
    ...(operation !== undefined && { operation }),
    ...(orderId !== undefined && { orderId }),
    ...(keyId !== undefined && { keyId }),
    ...(error !== undefined && { error }),
    durationMs: performance.now() - exchange.startedMs,
  };
  replies.publish(message);
}

/**
 * Goes on with the value at once, or when its promise is fulfilled. Query builders are often thenables that promise
 * less than a promise does: they are made one.
 */
export function passOn<T>(
  exchange: Exchange,
  value: T | Promise<T>,
  next: (exchange: Exchange, value: T) => Reply | Promise<Reply>,
): Reply | Promise<Reply> {
  return isPromise(value) ? Promise.resolve(value).then((settled) => next(exchange, settled)) : next(exchange, value);
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
