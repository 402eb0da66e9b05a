import { MAX_HEADER_INTEGER } from '../../check.js';
import { FIELD_NAMES, FIELDS } from '../../orders/fields.js';
import type { Order } from '../../orders/order.js';
import { ERROR_CODES, errorObject } from '../errors.js';
import { CHALLENGE, INVALID_TOKEN_CHALLENGE, PRIVATE } from '../reply.js';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

type Scalar = string | number | boolean;

/** The keywords of JSON Schema that the document uses for its components. */
export interface Schema {
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Reference;
  readonly enum?: readonly Scalar[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly examples?: readonly Scalar[];
}

export interface Header {
  readonly description: string;
  /** A response that documents a required header always has it. */
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example: string | number;
}

/** A reference to a component. It is a type, because no interface is assignable to {@link Json}. */
export type Reference = { readonly $ref: string };

export function refer(kind: 'schemas' | 'headers' | 'responses', name: string): Reference {
  return { $ref: `#/components/${kind}/${name}` };
}

function propertySchema(name: keyof Order): Schema {
  const { type, description, example } = FIELDS[name];
  return { ...type.schema, description, examples: [example] };
}

export const EXAMPLE_ID = FIELDS.id.example;

export const EXAMPLE_ORDERS = [
  { id: 1, petId: 101, quantity: 1, shipDate: '2026-01-05T09:30:00Z', complete: true },
  { id: 5, petId: 102, quantity: 2, complete: false },
  { id: EXAMPLE_ID, petId: 108, quantity: 1, shipDate: '2030-03-04T16:20:00Z', complete: false },
] as const;

const EXAMPLE_ERROR = errorObject('order_already_shipped');

export const schemas: Readonly<Record<string, Schema>> = {
  Order: {
    type: 'object',
    description: 'An order. No field is required: a field without a known value is absent, never `null`.',
    properties: Object.fromEntries(FIELD_NAMES.map((name) => [name, propertySchema(name)])),
  },
  OrderList: {
    type: 'array',
    description: 'Every order, ascending by id, without pagination. The number of orders is not bounded.',
    items: refer('schemas', 'Order'),
  },
  OrderId: { ...FIELDS.id.type.schema, description: 'Order identifier, in decimal digits.' },
  Error: {
    type: 'object',
    description: 'Every error has this shape.',
    required: ['code', 'message', 'status'],
    properties: {
      code: {
        type: 'string',
        description: 'Machine-readable error code.',
        enum: ERROR_CODES,
        examples: [EXAMPLE_ERROR.code],
      },
      message: {
        type: 'string',
        description: 'Human-readable description: what was wrong and what to do. The wording may change.',
        pattern: '^[ -~]+$',
        maxLength: 200,
        examples: [EXAMPLE_ERROR.message],
      },
      status: {
        type: 'integer',
        format: 'int32',
        minimum: 400,
        maximum: 599,
        description: 'The HTTP status code.',
        examples: [EXAMPLE_ERROR.status],
      },
    },
  },
};

/** The longest header section that Node.js accepts by default. */
const MAX_FIELD_LENGTH = 16_384;

function integerSchema(minimum: number) {
  return { type: 'integer', format: 'int64', minimum, maximum: MAX_HEADER_INTEGER };
}

/** Returns the schema of a list of windows, each with the parameters `first` and `second`. */
function windowsSchema(first: string, second: string) {
  const item = `"[A-Za-z][A-Za-z0-9_.-]*";${first}=[0-9]{1,15};${second}=[0-9]{1,15}`;
  return { type: 'string', pattern: `^${item}(?:, ${item})*$`, maxLength: MAX_FIELD_LENGTH };
}

/** Describes a header with a whole number. A response that documents this header always has it. */
function numberHeader(description: string, example: number, minimum = 0) {
  return { description, required: true, schema: integerSchema(minimum), example };
}

// Without `Content-Encoding` and `Content-Length`, which mock servers would send with other bytes.
export const headers = {
  'X-RateLimit-Limit': numberHeader('The quota of the window that will refuse first.', 60),
  'X-RateLimit-Remaining': numberHeader('Requests remaining in the window that will refuse first.', 59),
  'X-RateLimit-Reset': numberHeader(
    'Unix timestamp, in seconds, at which the window that will refuse first has its full quota again. During a ban, the timestamp at which a request can pass again.',
    1_767_225_660,
  ),
  'RateLimit-Policy': {
    description:
      'Quota (`q`) and length in seconds (`w`) of each window (draft-ietf-httpapi-ratelimit-headers-11). Optional.',
    schema: windowsSchema('q', 'w'),
    example: '"minute";q=60;w=60, "day";q=1000;w=86400',
  },
  RateLimit: {
    description:
      'Requests remaining (`r`) in each window, and seconds (`t`) until more are available (same draft as `RateLimit-Policy`). Optional.',
    schema: windowsSchema('r', 't'),
    example: '"minute";r=59;t=60, "day";r=999;t=86400',
  },
  'Retry-After': numberHeader(
    'Whole seconds to wait before the next request. A request sent after that time is within the limit.',
    60,
    1,
  ),
  'WWW-Authenticate': {
    description: 'The authentication challenge of RFC 6750. Contains `error` only if the request has an API key.',
    required: true,
    schema: { type: 'string', enum: [CHALLENGE, INVALID_TOKEN_CHALLENGE] },
    example: CHALLENGE,
  },
  'Cache-Control': {
    description:
      'Caches must not store errors. Only a private cache may store the list, and it asks the service before each use.',
    required: true,
    schema: { type: 'string', enum: ['no-store', PRIVATE] },
    example: 'no-store',
  },
  ETag: {
    description:
      'Entity tag of the list, different for each content coding. Absent only if the store keeps no version of a long list. The stores of the program, SQLite and PostgreSQL, keep one.',
    schema: { type: 'string', pattern: '^"[\\w-]{22}(?:\\.(?:gzip|br))?"$', maxLength: 32 },
    example: '"C3Hqqa2Jnq8tqHYacGG9Ht"',
  },
  Vary: {
    description:
      'Contains `Accept-Encoding`, which selects the content coding, and what else the host varies by. Absent only with `ETag`.',
    schema: { type: 'string', pattern: '^(?:[\\w-]+, )*Accept-Encoding(?:, [\\w-]+)*$', maxLength: MAX_FIELD_LENGTH },
    example: 'Accept-Encoding',
  },
  'X-Request-Id': {
    description:
      "Identifies the request in the server's log. A valid value from the client is kept. Otherwise the server creates one, unless it keeps no log.",
    schema: { type: 'string', pattern: '^[\\w.:+/=@-]+$', minLength: 1, maxLength: 128 },
    example: 'c0ffee00-1bad-4dea-8bee-5e1ec7ed1dea',
  },
} as const satisfies Readonly<Record<string, Header>>;

export type HeaderName = keyof typeof headers;

/** The headers of every response: the rate limit (specification, part 8) and the request id. */
export const COMMON_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'X-Request-Id',
] as const satisfies readonly HeaderName[];

export function headersOf(names: readonly HeaderName[]): Readonly<Record<string, Json>> {
  return Object.fromEntries(names.map((name) => [name, refer('headers', name)]));
}
