import { channel } from 'node:diagnostics_channel';
import type { Plan } from '../limits/index.js';
import type { OrderId } from '../orders/index.js';
import type { ErrorCode } from './errors.js';
import type { ReadHead } from './request-head.js';
import type { Route } from './route.js';

/** The client's address, or how to find it, asked only of a request without a valid key. */
export type ClientAddress = string | undefined | (() => string | undefined);

/**
 * The mutable state of one request and its reply. Each step adds what it learns, so that a failure
 * anywhere still gets a true reply.
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
  /** Whose limits the reply announces: at first those of an address. */
  plan: Plan;
  /** The limiter's decision as header fields. */
  limitFields: readonly string[] | undefined;
  code: ErrorCode | undefined;
  /** Whether the connection closes after the reply. */
  isLast: boolean;
  error: unknown;
}

/**
 * With all of its fields from the beginning: one that grows on the way costs every step that reads
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
 * Published on the `node:diagnostics_channel` named `store-orders:reply`, once for each reply, and
 * once more, with its `error`, for a list that failed after its reply had begun. Holds no secret.
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
  /**
   * What a part of the host threw or rejected with, behind a 503 or a torn list, or the service
   * itself, behind a 500.
   */
  readonly error?: unknown;
  /** From the request's head to the reply, not yet written. */
  readonly durationMs: number;
}

const replies = channel('store-orders:reply');

/** Nothing is measured or published when nobody listens. */
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
