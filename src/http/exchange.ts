import { channel } from 'node:diagnostics_channel';
import type { Plan } from '../limits/index.js';
import type { OrderId } from '../orders/index.js';
import type { ErrorCode } from './errors.js';
import { failHost, hostFailure } from './host-call.js';
import type { ReadHead } from './request-head.js';
import type { Route } from './route.js';

/**
 * The client's address, or a function that returns it. The function is called only if the address
 * is needed: to limit a request by it, or for the diagnostics channel.
 */
export type ClientAddress = string | undefined | (() => string | undefined);

/**
 * The mutable state of one request and its reply. Each step stores its results here, so that the
 * reply is accurate even if a later step fails.
 */
export interface Exchange {
  readonly route: Route;
  readonly method: string | undefined;
  readonly target: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly head: ReadHead;
  readonly clientAddress: ClientAddress;
  readonly startedMs: number;
  operation: 'listOrders' | 'cancelOrder' | undefined;
  orderId: OrderId | undefined;
  keyId: string | undefined;
  /**
   * The plan whose limits the reply announces: the plan of the key or, if there is no valid key,
   * the address plan.
   */
  plan: Plan;
  /** The limiter's decision as header fields. */
  limitFields: readonly string[] | undefined;
  code: ErrorCode | undefined;
  charged: 'key' | 'address' | undefined;
  isOverLimit: boolean;
  /** Whether the connection closes after the reply. */
  isLast: boolean;
  error: unknown;
  /** The client's request id, or else a new one if the diagnostics channel has subscribers. */
  requestId: string | undefined;
}

/**
 * Creates the exchange with all its fields. If fields were added later, every step that reads the
 * object would be slower.
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
    charged: undefined,
    isOverLimit: false,
    isLast: false,
    error: undefined,
    requestId: head.requestId ?? (isObserved ? crypto.randomUUID() : undefined),
  };
}

export function addressOf({ clientAddress }: Exchange): string | undefined {
  try {
    return typeof clientAddress === 'function' ? clientAddress() : clientAddress;
  } catch (error) {
    return failHost('clientAddress failed', error);
  }
}

/**
 * The message that is published on the `node:diagnostics_channel` named `store-orders:reply`, once
 * for each reply. The message of a streamed list is published when the stream has ended. If the
 * store failed midway, it has the status 200 and the `error`. A message contains no secrets.
 */
export interface ReplyMessage {
  /**
   * The client's `X-Request-Id`, or an id from this process if the client sent none. The reply
   * carries the same id.
   */
  readonly requestId: string | undefined;
  /**
   * The request's `traceparent` (W3C Trace Context), if it is valid. Use it as the parent of a
   * tracing span for this reply.
   */
  readonly traceparent?: string | undefined;
  readonly method?: string | undefined;
  /** The path of the request target without the query, cut off after 1,024 characters. */
  readonly path?: string | undefined;
  readonly clientAddress?: string | undefined;
  readonly status: number;
  /** Length of the body, in bytes. Of a streamed list, what the client has taken. */
  readonly bytes?: number | undefined;
  /** The `code` in the body of an error response. */
  readonly code?: ErrorCode | undefined;
  /** The name of the operation in the specification. */
  readonly operation?: 'listOrders' | 'cancelOrder' | undefined;
  readonly orderId?: OrderId | undefined;
  /** The principal's id. */
  readonly keyId?: string | undefined;
  /** Name of the plan whose limits the reply announces. */
  readonly plan: string;
  /**
   * The error that caused a 500, a 503 or a truncated list. With a 500, it comes from the service
   * itself. With a 503, it comes from the store, the limiter, or a function of the embedding
   * program such as `authenticate`.
   */
  readonly error?: unknown;
  /**
   * The time from when the request's head has been read until the reply is ready. It does not
   * include the time to write the reply, unless the reply is a streamed list.
   */
  readonly durationMs: number;
}

const CHANNEL = 'store-orders:reply';
const replies = channel(CHANNEL);

/**
 * Publishes the reply on the diagnostics channel. If the channel has no subscribers, emits a
 * process warning for the first failure of each kind.
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
 * Returns the client's address for the diagnostics channel. Returns `undefined` if the function
 * that determines the address throws, because the reply must be sent even then.
 */
function knownAddress(exchange: Exchange): string | undefined {
  try {
    return addressOf(exchange);
  } catch {
    return undefined;
  }
}

const warnedOf = new Set<string>();

function warn({ error, operation, head }: Exchange): void {
  const failed = hostFailure(error) ?? `${operation ?? 'the service'} failed`;
  if (warnedOf.has(failed)) return;
  warnedOf.add(failed);
  // Some runtimes in which a fetch handler runs have no global `process`.
  globalThis.process?.emitWarning?.(
    `${failed}: ${describe(error, head.apiKey)}. Further failures of this kind are not shown here. To receive each with its error, ` +
      `subscribe to the diagnostics channel "${CHANNEL}".`,
    'StoreOrdersWarning',
  );
}

/**
 * Returns the class of an error, its code, its message without secrets, and where it was thrown:
 * `Error ECONNREFUSED: db down, at list (/app/store.mjs:6:9)`.
 */
function describe(error: unknown, apiKey: string | undefined): string {
  try {
    const { name, code, message = '', stack } = Object(error);
    const [place = ''] = /^ +at .+$/m.exec(String(stack).slice(`${name}: ${message}`.length)) ?? [];
    const kind = typeof code === 'string' && /^\w{1,40}$/.test(code) ? `${name} ${code}` : `${name}`;
    const parts = [withoutSecrets(`${message}`, apiKey), place.trim()].filter((part) => part !== '');
    return parts.length === 0 ? kind : `${kind}: ${parts.join(', ')}`;
  } catch {
    return 'an object that cannot be read';
  }
}

const MAX_MESSAGE_LENGTH = 300;

/**
 * Returns the first line of a message, for a terminal or a log. Leaves out the API key of the
 * request, the user and password of each URL, and values such as `password=…` and `Bearer …`.
 */
function withoutSecrets(message: string, apiKey: string | undefined): string {
  const [line = ''] = message.split(/[\r\n]/, 1);
  return (apiKey === undefined ? line : line.replaceAll(apiKey, '***'))
    .replace(/:\/\/\S*@/g, '://***@')
    .replace(/\b(bearer +|(?:password|passwd|secret|token|api[_-]?key)["']?\s*[=:]\s*)\S+/gi, '$1***')
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, MAX_MESSAGE_LENGTH);
}
