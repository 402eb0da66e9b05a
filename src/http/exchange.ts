import { channel } from 'node:diagnostics_channel';
import type { Plan } from '../limits/index.js';
import type { OrderId } from '../orders/index.js';
import type { ErrorCode } from './errors.js';
import type { ReadHead } from './request-head.js';
import type { Route } from './route.js';

/**
 * The client's address, or a function that returns it. The function is called only for a request
 * without a valid key.
 */
export type ClientAddress = string | undefined | (() => string | undefined);

/**
 * The mutable state of one request and its reply. Each step adds its results, so that a failure
 * anywhere still gets an accurate reply.
 */
export interface Exchange {
  readonly route: Route;
  readonly method: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly head: ReadHead;
  readonly clientAddress: ClientAddress;
  readonly startedMs: number;
  operation: 'listOrders' | 'cancelOrder' | undefined;
  orderId: OrderId | undefined;
  keyId: string | undefined;
  /** The plan whose limits the reply announces, initially that of an address. */
  plan: Plan;
  /** The limiter's decision as header fields. */
  limitFields: readonly string[] | undefined;
  code: ErrorCode | undefined;
  /** Whether the connection closes after the reply. */
  isLast: boolean;
  error: unknown;
}

/**
 * Sets every field from the start. An object that grows later would slow down every step that reads
 * it.
 */
export function createExchange(
  route: Route,
  method: string | undefined,
  rawHeaders: readonly string[],
  head: ReadHead,
  clientAddress: ClientAddress,
  plan: Plan,
): Exchange {
  return {
    route,
    method,
    rawHeaders,
    head,
    clientAddress,
    startedMs: replies.hasSubscribers ? performance.now() : 0,
    operation: undefined,
    orderId: undefined,
    keyId: undefined,
    plan,
    limitFields: undefined,
    code: undefined,
    isLast: false,
    error: undefined,
  };
}

/**
 * Published on the `node:diagnostics_channel` named `store-orders:reply`, once for each reply. If a
 * list fails after its reply has begun, it is published a second time with its `error`. Contains no
 * secrets.
 */
export interface ReplyMessage {
  readonly status: number;
  /** The code of the Error object. */
  readonly code?: ErrorCode;
  /** The specification's operation name. */
  readonly operation?: 'listOrders' | 'cancelOrder';
  readonly orderId?: OrderId;
  /** The principal's id. */
  readonly keyId?: string;
  /**
   * The error of a part of the host (behind a 503 or a truncated list) or of the service itself
   * (behind a 500).
   */
  readonly error?: unknown;
  /** From reading the request's head until the reply is ready, but not written. */
  readonly durationMs: number;
}

const replies = channel('store-orders:reply');

/** Measures and publishes nothing unless there is a subscriber. */
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
