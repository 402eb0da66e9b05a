import { type ErrorCode, type ErrorObject, errorObject } from '../errors.js';
import {
  COMMON_HEADERS,
  EXAMPLE_ORDERS,
  type HeaderName,
  headersOf,
  type Json,
  type Reference,
  refer,
} from './schemas.js';

export interface OpenApiResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, Json>>;
  readonly content?: {
    readonly 'application/json': {
      readonly schema: Json;
      readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: Json }>>;
    };
  };
}

/** References to response components, by status. */
export type OpenApiResponses = Readonly<Record<string, Reference>>;

/**
 * Where an error can occur: in both operations (`operations`), only when an order is cancelled
 * (`cancelOrder`), or only with an unknown path or method (`elsewhere`).
 */
type Origin = 'operations' | 'cancelOrder' | 'elsewhere';

/** Which requests can get each error code. The compiler requires an entry for every code. */
const ORIGINS: Readonly<Record<ErrorCode, Origin>> = {
  bad_request: 'operations',
  missing_api_key: 'operations',
  invalid_api_key: 'operations',
  order_not_found: 'cancelOrder',
  invalid_order_id: 'cancelOrder',
  route_not_found: 'elsewhere',
  method_not_allowed: 'elsewhere',
  request_timeout: 'operations',
  order_already_shipped: 'cancelOrder',
  order_already_cancelled: 'cancelOrder',
  order_not_pending: 'cancelOrder',
  precondition_failed: 'operations',
  uri_too_long: 'operations',
  rate_limit_exceeded: 'operations',
  api_key_banned: 'operations',
  headers_too_large: 'operations',
  internal_error: 'operations',
  method_not_implemented: 'elsewhere',
  service_unavailable: 'operations',
};

interface ResponseText {
  /** The name of the response in the document's `components`. */
  readonly name: string;
  readonly description: string;
  /** The headers that this error has in addition to those of every error. */
  readonly headers?: readonly HeaderName[];
}

/**
 * The texts of the error responses, by status. For an unknown path or method, the key is the status
 * and the word `elsewhere`, such as `404 elsewhere`.
 */
const TEXTS: Readonly<Record<string, ResponseText>> = {
  400: { name: 'BadRequest', description: 'The request is not valid HTTP. The connection is closed.' },
  401: {
    name: 'Unauthorized',
    description: 'The API key is missing or not valid.',
    headers: ['WWW-Authenticate'],
  },
  404: { name: 'OrderNotFound', description: 'The order does not exist.' },
  '404 elsewhere': { name: 'RouteNotFound', description: 'The path does not exist.' },
  '405 elsewhere': {
    name: 'MethodNotAllowed',
    description: 'The path does not support this method.',
    headers: ['Allow'],
  },
  408: { name: 'RequestTimeout', description: 'The request did not arrive in time. The connection is closed.' },
  409: { name: 'NotPending', description: 'The order is not pending, so it cannot be cancelled. Nothing was changed.' },
  412: {
    name: 'PreconditionFailed',
    description:
      'The `If-Match` condition failed: the list has changed, or the request to cancel an order names an entity tag, although a single order has none. Nothing was changed.',
  },
  414: { name: 'UriTooLong', description: 'The request target is too long.' },
  429: {
    name: 'TooManyRequests',
    description:
      'The rate limit is exceeded, or the key is temporarily banned for sending requests after a 429. Wait the number of seconds in `Retry-After`, then retry with exponential backoff.',
    headers: ['Retry-After'],
  },
  431: { name: 'HeadersTooLarge', description: 'The header fields are too large. The connection is closed.' },
  500: { name: 'InternalError', description: 'The service failed unexpectedly.' },
  '501 elsewhere': { name: 'MethodNotImplemented', description: 'The service does not support this method.' },
  503: {
    name: 'ServiceUnavailable',
    description: 'The service is temporarily unavailable: a backend has failed, or the server is shutting down.',
    headers: ['Retry-After'],
  },
};

export const ERROR_CODES: readonly ErrorCode[] = Object.keys(ORIGINS).filter(isErrorCode);

function isErrorCode(name: string): name is ErrorCode {
  return Object.hasOwn(ORIGINS, name);
}

const ERRORS: readonly (ErrorObject & { readonly origin: Origin })[] = ERROR_CODES.map((code) => ({
  ...errorObject(code),
  origin: ORIGINS[code],
}));

const LISTED: OpenApiResponse = {
  description: 'Every order, ascending by id, including cancelled orders.',
  headers: headersOf([...COMMON_HEADERS, 'ETag', 'Vary', 'Content-Encoding', 'Content-Length']),
  content: {
    'application/json': {
      schema: refer('schemas', 'OrderList'),
      examples: { orders: { summary: 'Three orders, one of them with an id above 2^53.', value: EXAMPLE_ORDERS } },
    },
  },
};

const NOT_MODIFIED: OpenApiResponse = {
  description: 'The list has not changed since the response whose entity tag is in `If-None-Match`.',
  headers: headersOf([...COMMON_HEADERS, 'ETag', 'Vary']),
};

const CANCELLED: OpenApiResponse = {
  description: 'The order is now cancelled.',
  headers: headersOf(COMMON_HEADERS),
};

/** Returns the response components by name. */
export function responses(): Readonly<Record<string, OpenApiResponse>> {
  const errors = ERRORS.filter(({ origin }) => origin !== 'elsewhere').map(textOf);
  return {
    Orders: LISTED,
    NotModified: NOT_MODIFIED,
    Cancelled: CANCELLED,
    ...Object.fromEntries(errors.map((text) => [text.name, errorResponse(text)])),
  };
}

/** Returns the responses of an operation, by status. */
export function responsesOf(operation: 'listOrders' | 'cancelOrder'): OpenApiResponses {
  const isCancel = operation === 'cancelOrder';
  return {
    ...(isCancel
      ? { 204: refer('responses', 'Cancelled') }
      : { 200: refer('responses', 'Orders'), 304: refer('responses', 'NotModified') }),
    ...referToErrors('operations'),
    ...(isCancel && referToErrors('cancelOrder')),
  };
}

/** Returns the responses to unknown paths and methods, by status. */
export function responsesElsewhere(): Readonly<Record<string, OpenApiResponse>> {
  return Object.fromEntries(errorsFrom('elsewhere').map((error) => [error.status, errorResponse(textOf(error))]));
}

function referToErrors(origin: Origin): OpenApiResponses {
  return Object.fromEntries(errorsFrom(origin).map((error) => [error.status, refer('responses', textOf(error).name)]));
}

function errorsFrom(wanted: Origin) {
  return ERRORS.filter(({ origin }) => origin === wanted);
}

function textOf({ status, origin }: { readonly status: number; readonly origin: Origin }): ResponseText {
  const text = TEXTS[origin === 'elsewhere' ? `${status} ${origin}` : status];
  if (text === undefined) throw new TypeError(`status ${status} has no description`);
  return text;
}

/**
 * Returns the response that documents all error codes whose description is `text`. Its examples are
 * the real Error objects of these codes.
 */
function errorResponse(text: ResponseText): OpenApiResponse {
  const errors = ERRORS.filter((error) => textOf(error) === text);
  const codes = errors.map(({ code }) => code);
  return {
    description: text.description,
    headers: headersOf([...COMMON_HEADERS, ...(text.headers ?? []), 'Cache-Control', 'Content-Length']),
    content: {
      'application/json': {
        schema: {
          allOf: [
            refer('schemas', 'Error'),
            { properties: { code: { enum: codes }, status: { const: errors[0]?.status ?? 0 } } },
          ],
        },
        examples: Object.fromEntries(
          errors.map(({ code, message, status }) => [
            code,
            { summary: summaryOf(message), value: { code, message, status } },
          ]),
        ),
      },
    },
  };
}

/** Returns the first sentence of a message, which says what is wrong. The rest says what to do. */
function summaryOf(message: string): string {
  return message.slice(0, message.indexOf('. ') + 1);
}
