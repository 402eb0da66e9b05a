import { channel } from 'node:diagnostics_channel';
import type { Plan } from '../limits/index.js';
import type { OrderId } from '../orders/index.js';
import type { ErrorCode } from './errors.js';
import { hostFailure } from './host-call.js';
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

const CHANNEL = 'store-orders:reply';
const replies = channel(CHANNEL);

/** Nothing is measured or published when nobody listens; a failure is then warned of once. */
export function publish(exchange: Exchange, status: number): void {
  if (!replies.hasSubscribers) {
    if (exchange.error !== undefined) warn(exchange);
    return;
  }
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

const warnedOf = new Set<string>();

function warn({ error, operation }: Exchange): void {
  const failed = hostFailure(error) ?? `${operation ?? 'the service'} failed`;
  if (warnedOf.has(failed)) return;
  warnedOf.add(failed);
  // Not every runtime of a fetch handler has a process.
  globalThis.process?.emitWarning?.(
    `${failed}: ${kindOf(error)}. This is the first time; the diagnostics channel "${CHANNEL}" publishes ` +
      'each failure, with its error.',
    'StoreOrdersWarning',
  );
}

/** The class of an error, its code and where it was thrown. Its message may hold a secret. */
function kindOf(error: unknown): string {
  try {
    const { name, code, message, stack } = Object(error);
    const [place = ''] = /^ +at .+$/m.exec(String(stack).slice(`${name}: ${message}`.length)) ?? [];
    return [name, typeof code === 'string' && /^\w{1,40}$/.test(code) && code, place.trim()].filter(Boolean).join(' ');
  } catch {
    return 'an object that cannot be read';
  }
}
