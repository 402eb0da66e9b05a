import { channel } from 'node:diagnostics_channel';
import type { OrderId } from '../orders/index.js';
import type { ErrorCode } from './errors.js';
import { HostFailure } from './host-call.js';
import type { OperationName } from './operations.js';

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
  readonly operation?: OperationName | undefined;
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

export const REPLY_CHANNEL = 'store-orders:reply';
export const replies = channel(REPLY_CHANNEL);

/** A failure that no subscriber learns of. */
export interface UnheardFailure {
  readonly error: unknown;
  readonly operation: OperationName | undefined;
  /** The API key of the request, which the warning must not contain. */
  readonly apiKey: string | undefined;
}

/** Creates a function that emits a process warning for the first failure of each kind. */
export function createFailureWarning(): (failure: UnheardFailure) => void {
  const warnedOf = new Set<string>();
  return ({ error, operation, apiKey }) => {
    const failed = error instanceof HostFailure ? error.message : `${operation ?? 'the service'} failed`;
    if (warnedOf.has(failed)) return;
    warnedOf.add(failed);
    // Some runtimes in which a fetch handler runs have no global `process`.
    globalThis.process?.emitWarning?.(
      `${failed}: ${describe(hostErrorOf(error), apiKey)}. Further failures of this kind are not shown here. To receive ` +
        `each with its error, subscribe to the diagnostics channel "${REPLY_CHANNEL}".`,
      'StoreOrdersWarning',
    );
  };
}

/** Returns the error that a part of the embedding program threw, or the error of the service. */
export function hostErrorOf(error: unknown): unknown {
  return error instanceof HostFailure ? error.cause : error;
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
