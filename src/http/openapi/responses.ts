import { type ErrorCode, type ErrorObject, errorObject } from '../errors.js';
import {
  EXAMPLE_ORDERS,
  type HeaderName,
  headersOf,
  type Json,
  LIMIT_HEADERS,
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

/** Responses by status: the components that they refer to. */
export type OpenApiResponses = Readonly<Record<string, Reference>>;

/**
 * Where an error can come from: either operation, the cancellation alone, or what is no operation.
 */
type Origin = 'operations' | 'cancelOrder' | 'elsewhere';

/** A new code does not compile before it is said here where it comes from. */
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
  /** Of the component. */
  readonly name: string;
  readonly description: string;
  /** Besides those of every error. */
  readonly headers?: readonly HeaderName[];
}

/** By status and, where one status means two things, by origin. */
const TEXTS: Readonly<Record<string, ResponseText>> = {
  400: { name: 'BadRequest', description: 'What was sent is not valid HTTP. The connection is closed.' },
  401: {
    name: 'Unauthorized',
    description: 'The API key is missing or not valid.',
    headers: ['WWW-Authenticate'],
  },
  404: { name: 'OrderNotFound', description: 'There is no order with this id.' },
  '404 elsewhere': { name: 'RouteNotFound', description: 'There is nothing at this path.' },
  '405 elsewhere': {
    name: 'MethodNotAllowed',
    description: 'The path is one of an operation, and the method is not.',
    headers: ['Allow'],
  },
  408: { name: 'RequestTimeout', description: 'The request did not arrive in time. The connection is closed.' },
  409: { name: 'NotPending', description: 'The order is not pending, so it cannot be cancelled. Nothing has changed.' },
  412: {
    name: 'PreconditionFailed',
    description:
      'The condition in `If-Match` is false: the list is another, or an order was meant, which has no tag. Nothing was done.',
  },
  414: { name: 'UriTooLong', description: 'The request target is too long.' },
  429: {
    name: 'TooManyRequests',
    description:
      'The rate limit is exceeded, or the key is banned for a time because requests went on after 429. Wait for `Retry-After`; then use exponential backoff.',
    headers: ['Retry-After'],
  },
  431: { name: 'HeadersTooLarge', description: 'The header fields are too large. The connection is closed.' },
  500: { name: 'InternalError', description: 'The service failed in an unforeseen way.' },
  '501 elsewhere': { name: 'MethodNotImplemented', description: 'No path supports this method.' },
  503: {
    name: 'ServiceUnavailable',
    description: 'The service cannot answer at the moment: a part of it fails, or it is about to stop.',
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
  description: 'All orders, ascending by id, cancelled ones too.',
  headers: headersOf([...LIMIT_HEADERS, 'ETag', 'Vary', 'Content-Encoding', 'Content-Length']),
  content: {
    'application/json': {
      schema: refer('schemas', 'OrderList'),
      examples: { orders: { summary: 'Three orders, one of them with an id beyond 2^53.', value: EXAMPLE_ORDERS } },
    },
  },
};

const NOT_MODIFIED: OpenApiResponse = {
  description: 'The list is still the one whose entity tag `If-None-Match` named.',
  headers: headersOf([...LIMIT_HEADERS, 'ETag', 'Vary']),
};

const CANCELLED: OpenApiResponse = {
  description: 'The order was pending and is cancelled now.',
  headers: headersOf(LIMIT_HEADERS),
};

/** The components. */
export function responses(): Readonly<Record<string, OpenApiResponse>> {
  const errors = ERRORS.filter(({ origin }) => origin !== 'elsewhere').map(textOf);
  return {
    Orders: LISTED,
    NotModified: NOT_MODIFIED,
    Cancelled: CANCELLED,
    ...Object.fromEntries(errors.map((text) => [text.name, errorResponse(text)])),
  };
}

/** What the operation can answer, by status. */
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

/** What any other path answers, and any other method on a path of the service; by status. */
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
  if (text === undefined) throw new TypeError(`the status ${status} is not described`);
  return text;
}

/** All codes of one text, with the real Error objects as examples. */
function errorResponse(text: ResponseText): OpenApiResponse {
  const errors = ERRORS.filter((error) => textOf(error) === text);
  const codes = errors.map(({ code }) => code);
  return {
    description: text.description,
    headers: headersOf([...LIMIT_HEADERS, ...(text.headers ?? []), 'Cache-Control', 'Content-Length']),
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

/** Its first sentence: what was wrong. The rest is what to do. */
function summaryOf(message: string): string {
  return message.slice(0, message.indexOf('. ') + 1);
}
