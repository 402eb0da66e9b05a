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

interface NamedResponse extends OpenApiResponse {
  readonly name: string;
}

/** The errors of unknown paths and methods, which no operation has. */
const WITHOUT_OPERATION: readonly ErrorCode[] = ['route_not_found', 'method_not_allowed', 'method_not_implemented'];

/** The error responses, by status. */
const ERROR_RESPONSES: Readonly<Record<number, NamedResponse>> = {
  400: errorResponse(400, 'BadRequest', 'The request is not valid HTTP. The connection is closed.'),
  401: errorResponse(401, 'Unauthorized', 'The API key is missing or not valid.', 'WWW-Authenticate'),
  404: errorResponse(404, 'OrderNotFound', 'The order does not exist.'),
  408: errorResponse(408, 'RequestTimeout', 'The request did not arrive in time. The connection is closed.'),
  409: errorResponse(409, 'NotPending', 'The order is not pending, so it cannot be cancelled. Nothing was changed.'),
  412: errorResponse(
    412,
    'PreconditionFailed',
    'The `If-Match` condition failed. The list has changed, or the request cancels an order, which has no entity tag. Nothing was changed.',
  ),
  414: errorResponse(414, 'UriTooLong', 'The request target is too long.'),
  429: errorResponse(
    429,
    'TooManyRequests',
    'The rate limit is exceeded, or the key is temporarily banned for sending requests after a 429. Wait the number of seconds in `Retry-After`, then retry with exponential backoff.',
    'Retry-After',
  ),
  431: errorResponse(431, 'HeadersTooLarge', 'The header fields are too large. The connection is closed.'),
  500: errorResponse(500, 'InternalError', 'The service failed unexpectedly.'),
  503: errorResponse(
    503,
    'ServiceUnavailable',
    'The service is temporarily unavailable: a backend has failed, or the server is shutting down.',
    'Retry-After',
  ),
};

/** The successful responses of each operation, by status. */
const SUCCESSES: {
  readonly [Name in OperationName]: Readonly<Record<(typeof OPERATIONS)[Name]['success'][number], NamedResponse>>;
} = {
  listOrders: {
    200: {
      name: 'Orders',
      description: 'Every order, ascending by id, including cancelled orders.',
      headers: headersOf([...COMMON_HEADERS, 'Cache-Control', 'ETag', 'Vary']),
      content: {
        'application/json': {
          schema: refer('schemas', 'OrderList'),
          examples: { orders: { summary: 'Three orders, one of them with an id above 2^53.', value: EXAMPLE_ORDERS } },
        },
      },
    },
    304: {
      name: 'NotModified',
      description: 'The list has not changed since the response whose entity tag is in `If-None-Match`.',
      headers: headersOf([...COMMON_HEADERS, 'Cache-Control', 'ETag', 'Vary']),
    },
  },
  cancelOrder: {
    204: { name: 'Cancelled', description: 'The order is now cancelled.', headers: headersOf(COMMON_HEADERS) },
  },
};

export function createResponses(): Readonly<Record<string, OpenApiResponse>> {
  const successes = Object.values(SUCCESSES).flatMap((byStatus) => Object.values<NamedResponse>(byStatus));
  return Object.fromEntries(
    [...successes, ...Object.values(ERROR_RESPONSES)].map(({ name, ...response }) => [name, response]),
  );
}

/** Returns references to the responses of an operation, by status. */
export function responsesOf(operation: OperationName): Readonly<Record<string, Reference>> {
  const successes = Object.entries<NamedResponse>(SUCCESSES[operation]).map(([status, { name }]) => [status, name]);
  const errors = errorsOf(operation).map((code) => [errorObject(code).status, responseNameOf(code)]);
  return Object.fromEntries([...successes, ...errors].map(([status, name]) => [status, refer('responses', `${name}`)]));
}

/** Returns the errors that an operation can have: its own, and those of all operations. */
function errorsOf(name: OperationName): readonly ErrorCode[] {
  const own: readonly ErrorCode[] = OPERATIONS[name].errors;
  const special = [...WITHOUT_OPERATION, ...OPERATION_NAMES.flatMap<ErrorCode>((other) => OPERATIONS[other].errors)];
  return ERROR_CODES.filter((code) => own.includes(code) || !special.includes(code));
}

function responseNameOf(code: ErrorCode): string {
  const { status } = errorObject(code);
  const response = ERROR_RESPONSES[status];
  if (response === undefined) throw new TypeError(`no response is described for status ${status}`);
  return response.name;
}

/** Documents all error codes with this status. The examples are the real Error objects. */
function errorResponse(
  status: number,
  name: string,
  description: string,
  ...furtherHeaders: readonly HeaderName[]
): NamedResponse {
  const codes = ERROR_CODES.filter((code) => errorObject(code).status === status && !WITHOUT_OPERATION.includes(code));
  // Generators leave out a response if a part of it names no type, or if one is a `const`.
  const properties = {
    code: { type: 'string', enum: codes },
    status: { type: 'integer', format: 'int32', minimum: status, maximum: status, enum: [status] },
  };
  return {
    name,
    description,
    headers: headersOf([...COMMON_HEADERS, ...furtherHeaders, 'Cache-Control']),
    content: {
      'application/json': {
        schema: { allOf: [refer('schemas', 'Error'), { type: 'object', properties }] },
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorObject(code) }])),
      },
    },
  };
}
