import { PLANS } from '../../limits/index.js';
import { checkBasePath } from '../route.js';
import {
  ERROR_CODES,
  type OpenApiResponse,
  type OpenApiResponses,
  responses,
  responsesElsewhere,
  responsesOf,
} from './responses.js';
import { EXAMPLE_ID, headers, type Json, refer, schemas } from './schemas.js';

export type { OpenApiResponse, OpenApiResponses } from './responses.js';
export type { Json, Reference } from './schemas.js';

/** How firm an operation is: a `beta` or `experimental` one may change without a new version. */
export type Stability = 'stable' | 'beta' | 'experimental';

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated: boolean;
  readonly 'x-stability': Stability;
  readonly parameters?: readonly Json[];
  readonly responses: OpenApiResponses;
}

/** The OpenAPI 3.1 document of the service, as plain data. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string; readonly description: string; readonly 'x-internal': boolean }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly security: readonly { readonly [scheme: string]: readonly string[] }[];
  readonly paths: {
    readonly '/store/orders': { readonly get: OpenApiOperation };
    readonly '/store/orders/{orderId}': { readonly delete: OpenApiOperation };
  };
  /** OpenAPI has no place for what is no operation: other paths, and other methods on these paths. */
  readonly 'x-responses-elsewhere': Readonly<Record<string, OpenApiResponse>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, Json>>;
    readonly schemas: Readonly<Record<string, Json>>;
    readonly headers: Readonly<Record<string, Json>>;
    readonly responses: Readonly<Record<string, OpenApiResponse>>;
  };
}

export interface OpenApiOptions {
  /** The service's own. Default: `/v1`. */
  readonly basePath?: string | undefined;
}

const SCHEME = 'apiKey';

const LIST: OpenApiOperation = {
  operationId: 'listOrders',
  tags: ['orders'],
  summary: 'List all orders',
  description:
    'Returns the full set of orders, ascending by id. It has no parameters: filtering and pagination are planned for v2. `HEAD` returns the same without the body. Send the `ETag` of the last answer in `If-None-Match`, and the list comes again only if it has changed; `Accept-Encoding` may ask for gzip or br.',
  deprecated: false,
  'x-stability': 'stable',
  responses: responsesOf('listOrders'),
};

const CANCEL: OpenApiOperation = {
  operationId: 'cancelOrder',
  tags: ['orders'],
  summary: 'Cancel an order',
  description:
    'Cancels the order if it is pending. An order that has shipped cannot be cancelled, and one that is cancelled stays in the list.',
  deprecated: false,
  'x-stability': 'stable',
  parameters: [
    {
      name: 'orderId',
      in: 'path',
      required: true,
      description:
        'The identifier of the order, digit by digit as it was listed. Any other way to write the number (`01`, `+1`, `1e0`) is answered 404.',
      schema: refer('schemas', 'OrderId'),
      example: EXAMPLE_ID,
    },
  ],
  responses: responsesOf('cancelOrder'),
};

/** Makes the document. Throws a TypeError that names the option if one is wrong. */
export function createOpenApiDocument({ basePath = '/v1' }: OpenApiOptions = {}): OpenApiDocument {
  checkBasePath(basePath);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Store Orders',
      version: '1.0.0',
      summary: 'The orders of a store that sells animals: list all of them, cancel one.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: basePath === '' ? '/' : basePath,
        description: 'The server that this document comes from, be it production, staging or local.',
        'x-internal': false,
      },
    ],
    tags: [{ name: 'orders', description: 'Orders placed in the store.' }],
    security: [{ [SCHEME]: [] }],
    paths: { '/store/orders': { get: LIST }, '/store/orders/{orderId}': { delete: CANCEL } },
    'x-responses-elsewhere': responsesElsewhere(),
    components: {
      securitySchemes: {
        [SCHEME]: {
          type: 'http',
          scheme: 'bearer',
          description: 'The API key, sent as the bearer token: `Authorization: Bearer <API key>` (RFC 6750).',
        },
      },
      schemas: schemas(ERROR_CODES),
      headers,
      responses: responses(),
    },
  };
}

/** The document as JSON text. `JSON.stringify` would round the limits of int64 to 9223372036854776000. */
export function printOpenApiDocument(document: OpenApiDocument): string {
  return JSON.stringify(document, null, 2)
    .replaceAll('-9223372036854776000', '-9223372036854775808')
    .replaceAll('9223372036854776000', '9223372036854775807');
}

const DESCRIPTION = `List all orders placed in the store, and cancel one by its identifier.

## Identifiers

\`id\` and \`petId\` are int64. Read them with a parser that keeps every digit; in JavaScript, \`JSON.parse\` rounds
what is beyond 2^53, and a rounded id names another order.

## Rate limits

| plan | requests a minute | requests a day |
| --- | ---: | ---: |
${Object.values(PLANS)
  .map(({ name, policies }) => `| ${name} | ${policies.map(({ quota }) => quota).join(' | ')} |`)
  .join('\n')}
| enterprise | custom | custom |

Both windows are taken together or not at all, and a refused request takes from neither. The \`X-RateLimit-*\`
headers are on every response and describe the window that will refuse first; \`RateLimit\` describes each. After 429,
wait for the seconds in \`Retry-After\`: a key that goes on without waiting can be banned for a time. Requests without a valid
key are limited by client address. Higher limits are obtained by changing plan; enterprise limits are agreed individually.

## Errors

Every error has the same shape, \`{ code, message, status }\`. Another path is answered 404 \`route_not_found\`, and another
method on one of these paths 405 \`method_not_allowed\` with \`Allow\`.

## Versions and stability

The path begins with the version. Each operation says how firm it is in \`x-stability\`: \`stable\`, \`beta\` or
\`experimental\`; one that is going to be removed is marked \`deprecated\`.`;
