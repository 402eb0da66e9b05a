import { channel } from 'node:diagnostics_channel';
import type { OrderId } from '../orders/index.js';
import type { ErrorCode } from './errors.js';
import { HostFailure } from './host-part.js';
import type { OperationName } from './operations.js';

/**
 * The message published for each reply on the `node:diagnostics_channel` `store-orders:reply`. For
 * a streamed list, it is published when the stream has ended. If the store failed midway, `status`
 * is still 200, and `error` is the failure. A long list that is cut off because its client was slow
 * is published again, with `isCutOff`, an `error` and the `bytes` sent until then. A message contains
 * no secrets, except those that the host's own parts have put into their `error`, which is passed on
 * unchanged.
 */
export interface ReplyMessage {
  /**
   * The client's `X-Request-Id` if it is valid, otherwise a new id. The reply has the same id. Here
   * and in `path`, the API key of the request is masked.
   */
  readonly requestId: string | undefined;
  /** The request's valid `traceparent` (W3C Trace Context): the parent for a span of this reply. */
  readonly traceparent?: string | undefined;
  readonly method?: string | undefined;
  /** The path of the request target without the query, cut off after 1,024 characters. */
  readonly path?: string | undefined;
  readonly clientAddress?: string | undefined;
  readonly status: number;
  /** The length of the body, in bytes. For a streamed list, the bytes read until its end. */
  readonly bytes?: number | undefined;
  /** The `code` in the body of an error response. */
  readonly code?: ErrorCode | undefined;
  readonly operation?: OperationName | undefined;
  readonly orderId?: OrderId | undefined;
  /** The principal's id. */
  readonly keyId?: string | undefined;
  /** The name of the plan whose limits the reply announces. */
  readonly plan: string;
  /**
   * The error that caused a 500, a 503 or a truncated list. The error of a 500 comes from the
   * service, any other from the store, the limiter, or a function of the host such as
   * `authenticate`.
   */
  readonly error?: unknown;
  /** Whether an earlier message has reported the same reply, so that it is not counted twice. */
  readonly isCutOff?: boolean | undefined;
  /**
   * The time from the arrival of the request head until the reply is ready to be written. For a
   * streamed list, the time until the stream has ended.
   */
  readonly durationMs: number;
}

const REPLY_CHANNEL = 'store-orders:reply';
export const replies = channel(REPLY_CHANNEL);

/** Creates a function that emits a process warning for the first failure of each kind. */
export function createFailureWarning() {
  const warnedKinds = new Set<string>();
  return (error: unknown, operation: OperationName | undefined, apiKey: string | undefined): void => {
    const kind = error instanceof HostFailure ? error.message : `${operation ?? 'the service'} failed`;
    if (warnedKinds.has(kind)) return;
    warnedKinds.add(kind);
    // Some runtimes in which a fetch handler runs have no global `process`.
    globalThis.process?.emitWarning?.(
      `${kind}: ${describeError(hostErrorOf(error), apiKey)}. Further failures of this kind are not shown here. To receive ` +
        `every failure, subscribe to the diagnostics channel "${REPLY_CHANNEL}".`,
      'StoreOrdersWarning',
    );
  };
}

/** Returns the error that a part of the host threw, or the error of the service. */
export function hostErrorOf(error: unknown): unknown {
  return error instanceof HostFailure ? error.cause : error;
}

const MAX_MESSAGE_LENGTH = 300;
/** To mask a shorter key would mangle words of the text, and nothing so short is a secret. */
const MIN_KEY_LENGTH = 8;

/** Masks the API key of a request in a text, also where it is percent-encoded. */
export function withoutKey(text: string, apiKey: string | undefined): string {
  if (apiKey === undefined || apiKey.length < MIN_KEY_LENGTH) return text;
  return text.replaceAll(apiKey, '***').replaceAll(encodeURIComponent(apiKey), '***');
}

/**
 * Returns the class of an error, its code, the first line of its message, and where it was thrown:
 * `Error ECONNREFUSED: db down, at list (/app/store.mjs:6:9)`. Leaves out the API key of the
 * request, and the user and password of each URL.
 */
function describeError(error: unknown, apiKey: string | undefined): string {
  try {
    const { name = 'Error', code, message = '', stack = '' }: Readonly<Record<string, unknown>> = Object(error);
    const kind = typeof code === 'string' ? `${name} ${code}` : `${name}`;
    const [line = ''] = `${message}`.split(/[\r\n]/, 1);
    const [place = ''] = /^ +at .+$/m.exec(`${stack}`.slice(`${name}: ${message}`.length)) ?? [];
    const masked = withoutKey(line, apiKey).replace(/:\/\/\S*@/g, '://***@');
    const details = [masked.slice(0, MAX_MESSAGE_LENGTH), place.trim()].filter(Boolean).join(', ');
    return details === '' ? kind : `${kind}: ${details}`;
  } catch {
    // A property of the object cannot be read or converted to text.
    return 'an unreadable object';
  }
}
