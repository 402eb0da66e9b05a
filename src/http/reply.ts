import { type ErrorCode, errorObject } from './errors.js';

/** A response that is not written yet: exactly what `writeHead` and `end` take. */
export interface Reply {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: string[];
  /** ASCII text, bytes, or bytes in pieces; `undefined` for none. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
}

interface PreparedError {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
}

const CHALLENGE = 'Bearer realm="store-orders"';

const prepared = new Map<ErrorCode, PreparedError>();

/** What is the same in every reply with this code, made once. */
function prepare(code: ErrorCode): PreparedError {
  const object = errorObject(code);
  const body = JSON.stringify(object);
  const fields = ['Content-Type', 'application/json', 'Content-Length', `${body.length}`, 'Cache-Control', 'no-store'];
  // RFC 6750 §3: the error attribute only if a token was sent.
  if (code === 'missing_api_key') fields.push('WWW-Authenticate', CHALLENGE);
  if (code === 'invalid_api_key') fields.push('WWW-Authenticate', `${CHALLENGE}, error="invalid_token"`);
  return { status: object.status, fields, body };
}

/** A reply with the Error object and these further header fields. */
export function errorReply(code: ErrorCode, fields: readonly string[]): Reply {
  const error = prepared.get(code) ?? prepare(code);
  prepared.set(code, error);
  return { status: error.status, headers: [...error.fields, ...fields], body: error.body };
}
