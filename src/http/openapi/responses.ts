import { ERROR_CODES, type ErrorCode, errorObject } from '../errors.js';
import { OPERATION_NAMES, OPERATIONS, type OperationName } from '../operations.js';
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
      readonly examples: Readonly<Record<string, { readonly summary?: string; readonly value: Json }>>;
    };
  };
}

/** References to response components, by status. */
export type OpenApiResponses = Readonly<Record<string, Reference>>;

interface NamedResponse extends OpenApiResponse {
  /** The name of the response in the document's `components`. */
  readonly name: string;
}

interface ResponseText {
  readonly name: string;
  readonly description: string;
  /** The headers that this error has in addition to those of every error. */
  readonly headers?: readonly HeaderName[];
}

/** The texts of the error responses, by status. */
const TEXTS: Readonly<Record<number, ResponseText>> = {
  400: { name: 'BadRequest', description: 'The request is not valid HTTP. The connection is closed.' },
  401: {
    name: 'Unauthorized',
    description: 'The API key is missing or not valid.',
    headers: ['WWW-Authenticate'],
  },
  404: { name: 'OrderNotFound', description: 'The order does not exist.' },
  408: { name: 'RequestTimeout', description: 'The request did not arrive in time. The connection is closed.' },
  409: { name: 'NotPending', description: 'The order is not pending, so it cannot be cancelled. Nothing was changed.' },
  412: {
    name: 'PreconditionFailed',
    description:
      'The `If-Match` condition failed. The list has changed, or the request cancels an order, which has no entity tag. Nothing was changed.',
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
  503: {
    name: 'ServiceUnavailable',
    description: 'The service is temporarily unavailable: a backend has failed, or the server is shutting down.',
    headers: ['Retry-After'],
  },
};

const LISTED: NamedResponse = {
  name: 'Orders',
  description: 'Every order, ascending by id, including cancelled orders.',
  headers: headersOf([...COMMON_HEADERS, 'ETag', 'Vary', 'Content-Encoding', 'Content-Length']),
  content: {
    'application/json': {
      schema: refer('schemas', 'OrderList'),
      examples: { orders: { summary: 'Three orders, one of them with an id above 2^53.', value: EXAMPLE_ORDERS } },
    },
  },
};

const NOT_MODIFIED: NamedResponse = {
  name: 'NotModified',
  description: 'The list has not changed since the response whose entity tag is in `If-None-Match`.',
  headers: headersOf([...COMMON_HEADERS, 'ETag', 'Vary']),
};

const CANCELLED: NamedResponse = {
  name: 'Cancelled',
  description: 'The order is now cancelled.',
  headers: headersOf(COMMON_HEADERS),
};

/** The successful responses of each operation, by status. */
const SUCCESSES: {
  readonly [Name in OperationName]: Readonly<Record<(typeof OPERATIONS)[Name]['success'][number], NamedResponse>>;
} = {
  listOrders: { 200: LISTED, 304: NOT_MODIFIED },
  cancelOrder: { 204: CANCELLED },
};

/** Returns the response components by name. */
export function responses(): Readonly<Record<string, OpenApiResponse>> {
  const successes = Object.values(SUCCESSES).flatMap((byStatus) => Object.values<NamedResponse>(byStatus));
  return Object.fromEntries([
    ...successes.map(({ name, ...response }) => [name, response] as const),
    ...Object.entries(TEXTS).map(([status, text]) => [text.name, errorResponse(Number(status), text)] as const),
  ]);
}

export function responsesOf(operation: OperationName): OpenApiResponses {
  const successes = Object.entries<NamedResponse>(SUCCESSES[operation]).map(([status, { name }]) => [status, name]);
  const errors = errorsOf(operation).map((code) => [errorObject(code).status, textOf(code).name]);
  return Object.fromEntries([...successes, ...errors].map(([status, name]) => [status, refer('responses', `${name}`)]));
}

/** The errors of unknown paths and methods, which no operation has. */
const ELSEWHERE: readonly ErrorCode[] = ['route_not_found', 'method_not_allowed', 'method_not_implemented'];

/** Returns the errors that an operation can have: its own, and those of all operations. */
function errorsOf(name: OperationName): readonly ErrorCode[] {
  const own: readonly ErrorCode[] = OPERATIONS[name].errors;
  const special = [...ELSEWHERE, ...OPERATION_NAMES.flatMap<ErrorCode>((other) => OPERATIONS[other].errors)];
  return ERROR_CODES.filter((code) => own.includes(code) || !special.includes(code));
}

function textOf(code: ErrorCode): ResponseText {
  const { status } = errorObject(code);
  const text = TEXTS[status];
  if (text === undefined) throw new TypeError(`status ${status} has no description`);
  return text;
}

/** Returns the response that documents all error codes with this status, by their real Error objects. */
function errorResponse(status: number, text: ResponseText): OpenApiResponse {
  const codes = ERROR_CODES.filter((code) => errorObject(code).status === status && !ELSEWHERE.includes(code));
  return {
    description: text.description,
    headers: headersOf([...COMMON_HEADERS, ...(text.headers ?? []), 'Cache-Control', 'Content-Length']),
    content: {
      'application/json': {
        schema: {
          allOf: [refer('schemas', 'Error'), { properties: { code: { enum: codes }, status: { const: status } } }],
        },
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorObject(code) }])),
      },
    },
  };
}
