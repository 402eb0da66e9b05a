import { ERROR_CODES, type ErrorCode, errorObject } from './errors.js';
import { FIRST_WAIT_MS, HostFailure } from './host-part.js';
import { retryAfter } from './rate-limit-fields.js';

/**
 * The outcome of a request, without the header fields that every reply has. Requests share
 * outcomes, so an outcome never changes.
 */
export interface Outcome {
  readonly status: number;
  /** The names and values of the header fields, alternating. */
  readonly fields: readonly string[];
  /** ASCII text, bytes, pieces of bytes, or a stream. `undefined` if there is no body. */
  readonly body: string | Uint8Array | SharedPieces | TakenPieces | StreamedBody | undefined;
  /** The `code` in the body of an error. */
  readonly code?: ErrorCode | undefined;
  /** The error that caused a 500 or a 503. */
  readonly error?: unknown;
  /** How long the client should wait after a 503, in milliseconds. `Retry-After` says the same. */
  readonly waitMs?: number;
}

/** A complete body in pieces, which many readers share. */
export interface SharedPieces extends AsyncIterable<Uint8Array> {
  /** The length of the body in bytes. */
  readonly length: number;
  readonly pieces: readonly Uint8Array[];
}

/** The most that is written at once. A client that reads 20 kB/s takes it in a minute. */
export const MAX_PART_BYTES = 1_048_576;

/** A complete body in pieces, as one client takes it. */
export interface TakenPieces extends AsyncIterable<Uint8Array> {
  readonly length: number;
  /** The body, if it is one piece that is written at once. */
  readonly onlyPiece: Uint8Array | undefined;
  /** Resolves if the body is cut off before its end. */
  readonly cut: Promise<StreamEnd>;
}

/** A body that is read from the store as fast as its only reader takes it. */
export interface StreamedBody extends AsyncIterable<Uint8Array> {
  /** Resolves when the stream has ended: it is complete, it failed, or the reader ended it. */
  readonly ended: Promise<StreamEnd>;
}

/** The number of bytes that the reader has taken, and the failure if one truncated the stream. */
export type StreamEnd = { readonly bytes: number; readonly error: unknown };

/** A prepared response, which has to be written to the connection. */
export interface Reply {
  readonly status: number;
  /** The names and values of the header fields, alternating. */
  readonly headers: string[];
  /** ASCII text, bytes, or an iterable of bytes. `undefined` if there is no body. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /**
   * Whether the request was charged to its valid key or to its client's address. `undefined` if the
   * limiter failed, or was not asked because the service is closed.
   */
  readonly chargedTo: 'key' | 'address' | undefined;
  /** The id of the owner of the request's valid key. `undefined` without one. */
  readonly keyId: string | undefined;
  /** Whether the address was charged and is over its limit. The Node mount then stops reading. */
  readonly isAddressOverLimit: boolean;
}

export function forEachField(fields: readonly string[], use: (name: string, value: string) => void): void {
  for (let i = 0; i + 1 < fields.length; i += 2) use(fields[i] ?? '', fields[i + 1] ?? '');
}

/** Calls `set` once for each name, with all its values, because `set` replaces earlier values. */
export function setFields(fields: readonly string[], set: (name: string, value: string | string[]) => void): void {
  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  forEachField(fields, (name, value) => {
    const field = byName.get(name.toLowerCase());
    if (field === undefined) byName.set(name.toLowerCase(), { name, values: [value] });
    else field.values.push(value);
  });
  for (const { name, values } of byName.values()) set(name, values.length === 1 ? `${values[0]}` : values);
}

/**
 * The `Cache-Control` of a list (RFC 9111 §5.2.2.4, §5.2.2.7). Only a client's own cache may store
 * it, and asks the service before each use, so that nobody gets a list without a valid key.
 */
export const PRIVATE = 'private, no-cache';

/**
 * Puts another `Vary` before the `Vary` of the reply, because the host's responses may depend on
 * other request fields too (RFC 9110 §12.5.5).
 */
export function withVary(headers: string[], vary: unknown): string[] {
  if (vary === undefined || vary === '') return headers;
  const fields: string[] = [];
  forEachField(headers, (name, value) => fields.push(name, name === 'Vary' ? `${vary}, ${value}` : value));
  return fields;
}

/**
 * Returns the headers for a host that may have set some already. Its `Cache-Control` replaces that of
 * a list, but not that of an error.
 */
export function withHostFields(headers: string[], hostValueOf: (name: string) => unknown): string[] {
  const fields = withVary(headers, hostValueOf('Vary'));
  const at = hostValueOf('Cache-Control') ? fields.indexOf(PRIVATE) : -1;
  return at < 0 ? fields : fields.toSpliced(at - 1, 2);
}

export function isShared(body: Outcome['body']): body is SharedPieces {
  return typeof body === 'object' && 'pieces' in body;
}

export function isTaken(body: Reply['body']): body is TakenPieces {
  return typeof body === 'object' && 'cut' in body;
}

/**
 * Reports whether a body is iterated. Not by `instanceof Uint8Array`, of which a test environment
 * such as jsdom has another class than Node.js.
 */
export function isPieces<Body>(body: Body): body is Extract<Body, AsyncIterable<Uint8Array>> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

export function isStream(body: Reply['body']): body is StreamedBody {
  return typeof body === 'object' && 'ended' in body;
}

/** The values of `WWW-Authenticate`, with `error` only if the client sent a token (RFC 6750 §3). */
export const CHALLENGE = 'Bearer realm="store-orders"';
export const INVALID_TOKEN_CHALLENGE = `${CHALLENGE}, error="invalid_token"`;

const ERROR_OUTCOMES: ReadonlyMap<ErrorCode, Outcome> = new Map(
  ERROR_CODES.map((code) => [code, createErrorOutcome(code)]),
);

function createErrorOutcome(code: ErrorCode): Outcome {
  const object = errorObject(code);
  const body = JSON.stringify(object);
  const fields = ['Content-Type', 'application/json', 'Content-Length', `${body.length}`, 'Cache-Control', 'no-store'];
  if (code === 'missing_api_key') fields.push('WWW-Authenticate', CHALLENGE);
  if (code === 'invalid_api_key') fields.push('WWW-Authenticate', INVALID_TOKEN_CHALLENGE);
  return { status: object.status, fields, body, code };
}

/** Returns the outcome with the Error object of `code`. `fields` alternate names and values. */
export function errorOutcome(code: ErrorCode, ...fields: readonly string[]): Outcome {
  const prepared = ERROR_OUTCOMES.get(code) ?? createErrorOutcome(code);
  return fields.length === 0 ? prepared : { ...prepared, fields: [...prepared.fields, ...fields] };
}

/** Returns the outcome 503. */
export function unavailable(waitMs = FIRST_WAIT_MS): Outcome {
  return { ...errorOutcome('service_unavailable', 'Retry-After', retryAfter(waitMs)), waitMs };
}

/** Returns the outcome of a failure: a 503 if a part of the host failed, otherwise a 500. */
export function outcomeOfFailure(error: unknown): Outcome {
  return { ...(error instanceof HostFailure ? unavailable(error.waitMs) : errorOutcome('internal_error')), error };
}
