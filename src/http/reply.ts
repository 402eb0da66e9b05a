import { type ErrorCode, errorObject } from './errors.js';
import { type Exchange, publish } from './exchange.js';
import { hostFailure, isPromise } from './host-call.js';
import { retryAfter, unavailableFields } from './rate-limit-fields.js';

/** The outcome of a request: a response without the facts about its request. */
export interface Outcome {
  readonly status: number;
  /** The names and values of the header fields, alternating. */
  readonly headers: string[];
  /** ASCII text, bytes, pieces of bytes, or a stream. `undefined` if there is no body. */
  readonly body: string | Uint8Array | SharedPieces | AsyncIterable<Uint8Array> | undefined;
}

/** A complete body in pieces, which many readers share. `length` is its length in bytes. */
export interface SharedPieces extends Iterable<Uint8Array>, AsyncIterable<Uint8Array> {
  readonly length: number;
}

/** A body that is read from the store as fast as its only reader takes it. */
export interface StreamedBody extends AsyncIterable<Uint8Array> {
  /** Resolves when the stream has ended: it is complete, it failed, or the reader ended it. */
  readonly ended: Promise<StreamEnd>;
}

export interface StreamEnd {
  /** The number of bytes that the reader received. */
  readonly bytes: number;
  /** The failure of the store, if the stream is truncated because of it. */
  readonly error: unknown;
}

/** A prepared response, which has to be written to the connection. */
export interface Reply extends Outcome {
  /**
   * Whether the request was charged to its valid key or to its client's address. `undefined` if the
   * limiter failed, or was not asked because the service is closed.
   */
  readonly charged: 'key' | 'address' | undefined;
  /** Whether the limit of that key or address was exceeded. */
  readonly isOverLimit: boolean;
}

export function forEachField(fields: readonly string[], use: (name: string, value: string) => void): void {
  for (let i = 0; i + 1 < fields.length; i += 2) use(fields[i] ?? '', fields[i + 1] ?? '');
}

interface PreparedError {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
}

/**
 * The values of `WWW-Authenticate`. The `error` attribute is sent only if the client sent a token
 * (RFC 6750 §3).
 */
export const CHALLENGE = 'Bearer realm="store-orders"';
export const INVALID_TOKEN_CHALLENGE = `${CHALLENGE}, error="invalid_token"`;

/** How long a client should wait after a 503. */
const UNAVAILABLE_MS = 1_000;

const prepared = new Map<ErrorCode, PreparedError>();

/** Prepares the status, header fields and body that all replies with this error code share. */
function prepare(code: ErrorCode): PreparedError {
  const object = errorObject(code);
  const body = JSON.stringify(object);
  const fields = ['Content-Type', 'application/json', 'Content-Length', `${body.length}`, 'Cache-Control', 'no-store'];
  if (code === 'missing_api_key') fields.push('WWW-Authenticate', CHALLENGE);
  if (code === 'invalid_api_key') fields.push('WWW-Authenticate', INVALID_TOKEN_CHALLENGE);
  const error = { status: object.status, fields, body };
  prepared.set(code, error);
  return error;
}

/**
 * Returns a reply with the Error object of `code` and the rate-limit fields. If `name` is given,
 * adds a header field with this name.
 */
export function refusal(exchange: Exchange, code: ErrorCode, name?: string, value = ''): Outcome {
  exchange.code = code;
  const { status, fields, body } = prepared.get(code) ?? prepare(code);
  const headers = [...fields, ...limitFieldsOf(exchange)];
  if (name !== undefined) headers.push(name, value);
  return { status, headers, body };
}

export function unavailable(exchange: Exchange): Outcome {
  return refusal(exchange, 'service_unavailable', 'Retry-After', retryAfter(UNAVAILABLE_MS));
}

/**
 * Returns the rate-limit fields. If the limiter made no decision, they announce that no requests
 * remain.
 */
export function limitFieldsOf({ limitFields, plan }: Exchange): readonly string[] {
  return limitFields ?? unavailableFields(plan, Date.now() + UNAVAILABLE_MS);
}

/**
 * Runs a step and turns its failure into a reply: 503 if the failure came from the embedding
 * program (its store, its limiter or a function such as `authenticate`), otherwise 500.
 */
export function attempt<T>(
  exchange: Exchange,
  step: (exchange: Exchange) => T | Promise<T>,
): T | Outcome | Promise<T | Outcome> {
  try {
    const result = step(exchange);
    return isPromise(result) ? result.catch((error) => failed(exchange, error)) : result;
  } catch (error) {
    return failed(exchange, error);
  }
}

function failed(exchange: Exchange, error: unknown): Outcome {
  exchange.error = error;
  return hostFailure(error) === undefined ? refusal(exchange, 'internal_error') : unavailable(exchange);
}

/**
 * Completes every reply: adds `X-Request-Id`, adds `Connection: close` if the connection closes
 * after the reply, and publishes the reply on the diagnostics channel. A stream is published when
 * it has ended.
 */
export function finish(exchange: Exchange, outcome: Outcome, isClosing = false): Reply {
  const { requestId, charged, isOverLimit } = exchange;
  const { status, headers, body } = outcome;
  const { hasContent, fault, isMultiplexed } = exchange.head;
  const isLast = hasContent || fault !== undefined || exchange.isLast || isClosing;
  if (isLast && !isMultiplexed) headers.push('Connection', 'close');
  if (requestId !== undefined) headers.push('X-Request-Id', requestId);
  if (exchange.method === 'HEAD') {
    publish(exchange, status, 0);
    return { status, headers, body: undefined, charged, isOverLimit };
  }
  if (isStream(body)) body.ended.then(({ bytes, error }) => publish({ ...exchange, error }, status, bytes));
  else publish(exchange, status, lengthOf(body));
  return { status, headers, body, charged, isOverLimit };
}

export function isStream(body: Outcome['body']): body is StreamedBody {
  return typeof body === 'object' && 'ended' in body;
}

function lengthOf(body: Outcome['body']): number | undefined {
  if (body === undefined) return 0;
  return typeof body === 'string' || 'length' in body ? body.length : undefined;
}
