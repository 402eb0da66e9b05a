import { channel } from 'node:diagnostics_channel';
import type { Plan } from '../limits/index.js';
import type { OrderId } from '../orders/index.js';
import type { ErrorCode } from './errors.js';
import { failHost, hostFailure } from './host-call.js';
import type { ReadHead } from './request-head.js';
import type { Route } from './route.js';

/**
 * The client's address, or a function that returns it. The function is called only to limit a
 * request by its address, and for the diagnostics channel.
 */
export type ClientAddress = string | undefined | (() => string | undefined);

/**
 * The mutable state of one request and its reply. Each step adds its results, so that a failure
 * anywhere still gets an accurate reply.
 */
export interface Exchange {
  readonly route: Route;
  readonly method: string | undefined;
  /** The request target. */
  readonly target: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly head: ReadHead;
  readonly clientAddress: ClientAddress;
  readonly startedMs: number;
  operation: 'listOrders' | 'cancelOrder' | undefined;
  orderId: OrderId | undefined;
  keyId: string | undefined;
  /** The plan whose limits the reply announces: initially the address plan, later the key's. */
  plan: Plan;
  /** The limiter's decision as header fields. */
  limitFields: readonly string[] | undefined;
  code: ErrorCode | undefined;
  /** Whether the connection closes after the reply. */
  isLast: boolean;
  error: unknown;
  /** The client's request id, or a new one if the diagnostics channel has subscribers. */
  requestId: string | undefined;
}

/**
 * Creates the exchange with every field set. An object that gets fields later would slow down every
 * step that reads it.
 */
export function createExchange(
  route: Route,
  method: string | undefined,
  target: string | undefined,
  rawHeaders: readonly string[],
  head: ReadHead,
  clientAddress: ClientAddress,
  plan: Plan,
): Exchange {
  const isObserved = replies.hasSubscribers;
  return {
    route,
    method,
    target,
    rawHeaders,
    head,
    clientAddress,
    startedMs: isObserved ? performance.now() : 0,
    operation: undefined,
    orderId: undefined,
    keyId: undefined,
    plan,
    limitFields: undefined,
    code: undefined,
    isLast: false,
    error: undefined,
    requestId: head.requestId ?? (isObserved ? createRequestId() : undefined),
  };
}

export function addressOf({ clientAddress }: Exchange): string | undefined {
  try {
    return typeof clientAddress === 'function' ? clientAddress() : clientAddress;
  } catch (error) {
    return failHost('clientAddress failed', error);
  }
}

const DIGITS = '0123456789abcdefghijklmnopqrstuv';
const ID_LENGTH = 14;
const ID_BATCH = 128;
const ids: string[] = [];

/** Returns an id of 70 random bits. A counter would tell clients how many requests others send. */
function createRequestId(): string {
  return ids.pop() ?? drawIds();
}

/**
 * Creates ids together, because each draw of random numbers takes microseconds. Each id is a string
 * of its own: a slice of a longer text would keep that text alive, and Node.js would take longer to
 * check the slice.
 */
function drawIds(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BATCH * ID_LENGTH));
  for (let start = 0; start < bytes.length; start += ID_LENGTH) {
    const digits: number[] = [];
    for (let i = start; i < start + ID_LENGTH; i++) digits.push(DIGITS.charCodeAt((bytes[i] ?? 0) % DIGITS.length));
    ids.push(String.fromCharCode(...digits));
  }
  return createRequestId();
}

/**
 * Published on the `node:diagnostics_channel` named `store-orders:reply`, once for each reply. If a
 * list fails after its reply has begun, the reply is published a second time, with the `error`.
 * Contains no secrets.
 */
export interface ReplyMessage {
  /**
   * The client's `X-Request-Id`, otherwise one created by this process. The reply carries it too.
   */
  readonly requestId: string | undefined;
  /**
   * The request's `traceparent` (W3C Trace Context) if valid: the parent of a span for this reply.
   */
  readonly traceparent?: string | undefined;
  readonly method?: string | undefined;
  /** The path of the request target without the query, cut off after 1,024 characters. */
  readonly path?: string | undefined;
  readonly clientAddress?: string | undefined;
  readonly status: number;
  /** Length of the body, in bytes. Absent for a list that is streamed. */
  readonly bytes?: number | undefined;
  /** The code of the Error object. */
  readonly code?: ErrorCode | undefined;
  /** The specification's operation name. */
  readonly operation?: 'listOrders' | 'cancelOrder' | undefined;
  readonly orderId?: OrderId | undefined;
  /** The principal's id. */
  readonly keyId?: string | undefined;
  /** Name of the plan whose limits the reply announces. */
  readonly plan: string;
  /**
   * The error of a part of the host (behind a 503 or a truncated list) or of the service itself
   * (behind a 500).
   */
  readonly error?: unknown;
  /**
   * The time from reading the request's head until the reply is ready, without the time to write
   * it.
   */
  readonly durationMs: number;
}

const CHANNEL = 'store-orders:reply';
const replies = channel(CHANNEL);

/**
 * Publishes the reply on the diagnostics channel. Without subscribers, only warns of the first
 * failure of each kind.
 */
export function publish(exchange: Exchange, status: number, bytes: number | undefined): void {
  if (!replies.hasSubscribers) {
    if (exchange.error !== undefined) warn(exchange);
    return;
  }
  const { requestId, head, method, target, code, operation, orderId, keyId, plan, error, startedMs } = exchange;
  const message: ReplyMessage = {
    requestId,
    traceparent: head.traceparent,
    method,
    path: target === undefined ? undefined : pathOf(target),
    clientAddress: knownAddress(exchange),
    status,
    bytes,
    code,
    operation,
    orderId,
    keyId,
    plan: plan?.name,
    error,
    durationMs: performance.now() - startedMs,
  };
  replies.publish(message);
}

const MAX_PATH_LENGTH = 1_024;

/**
 * Returns the path of a request target, without its query and fragment. The target of a fetch
 * Request is an absolute URL. Returns `undefined` for an absolute URL with an `@`, because it may
 * contain a password.
 */
function pathOf(target: string): string | undefined {
  const whole = upTo('#', upTo('?', target));
  const authority = whole.startsWith('/') ? -1 : whole.indexOf('://');
  if (authority === -1) return whole.slice(0, MAX_PATH_LENGTH);
  if (whole.includes('@')) return undefined;
  const start = whole.indexOf('/', authority + '://'.length);
  return start === -1 ? '/' : whole.slice(start, start + MAX_PATH_LENGTH);
}

function upTo(mark: string, text: string): string {
  const end = text.indexOf(mark);
  return end === -1 ? text : text.slice(0, end);
}

/**
 * Returns `undefined` if the host cannot determine the address. A request that was served without
 * the address must still get its reply.
 */
function knownAddress(exchange: Exchange): string | undefined {
  try {
    return addressOf(exchange);
  } catch {
    return undefined;
  }
}

const warnedOf = new Set<string>();

function warn({ error, operation }: Exchange): void {
  const failed = hostFailure(error) ?? `${operation ?? 'the service'} failed`;
  if (warnedOf.has(failed)) return;
  warnedOf.add(failed);
  // Some runtimes of a fetch handler have no `process`.
  globalThis.process?.emitWarning?.(
    `${failed}: ${kindOf(error)}. Further failures of this kind are not shown here. To receive each with its error, ` +
      `subscribe to the diagnostics channel "${CHANNEL}".`,
    'StoreOrdersWarning',
  );
}

/**
 * Returns the class of an error, its code and where it was thrown. The message is left out, because
 * it may contain a secret.
 */
function kindOf(error: unknown): string {
  try {
    const { name, code, message, stack } = Object(error);
    const [place = ''] = /^ +at .+$/m.exec(String(stack).slice(`${name}: ${message}`.length)) ?? [];
    return [name, typeof code === 'string' && /^\w{1,40}$/.test(code) && code, place.trim()].filter(Boolean).join(' ');
  } catch {
    return 'an object that cannot be read';
  }
}
