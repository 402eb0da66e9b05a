import { checkBasePath, checkFields, checkPublicUrl, DEFAULTS, SAMPLE_URL } from '../../check.js';
import { OPERATION_NAMES, OPERATIONS, type OperationName } from '../operations.js';
import type { OrderServiceOptions } from '../service/service.js';
import { DESCRIPTION } from './description.js';
import { createResponses, type OpenApiResponse, responsesOf } from './responses.js';
import { type CodeSample, createSamples } from './samples.js';
import { EXAMPLE_ID, type Header, headers, type Json, type Reference, refer, type Schema, schemas } from './schemas.js';

/** An operation of the document, also for a host that adds its own. */
export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated: boolean;
  /** `beta` and `experimental` operations may change in any version. */
  readonly 'x-stability': 'stable' | 'beta' | 'experimental';
  readonly parameters?: readonly OpenApiParameter[];
  /** References to response components, by status. */
  readonly responses: Readonly<Record<string, Reference>>;
  readonly 'x-codeSamples': readonly CodeSample[];
}

interface OpenApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Reference | Schema;
  readonly example: string | number | boolean;
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
  /** The operations by path, and then by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, Json>>;
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, OpenApiResponse>>;
  };
}

const SECURITY_SCHEME = 'apiKey';

const TEXTS: Readonly<Record<OperationName, Pick<OpenApiOperation, 'summary' | 'description' | 'x-stability'>>> = {
  listOrders: {
    summary: 'List all orders',
    description:
      'Returns every order, ascending by id. Filtering and pagination are planned for v2. `HEAD` returns the same header fields without the body. To download the list only when it has changed, send the `ETag` of the last response in `If-None-Match`. `Accept-Encoding` selects gzip or br.',
    'x-stability': 'stable',
  },
  cancelOrder: {
    summary: 'Cancel an order',
    description: 'Cancels a pending order. A shipped order cannot be cancelled. A cancelled order stays in the list.',
    'x-stability': 'stable',
  },
};

const ORDER_ID: OpenApiParameter = {
  name: 'orderId',
  in: 'path',
  required: true,
  description:
    'The order id, digit for digit as listed. Other spellings of the number (`01`, `+1`, `1e0`) return 404 `invalid_order_id`.',
  schema: refer('schemas', 'OrderId'),
  example: EXAMPLE_ID,
};

/** The id in request samples: a sample order's, which no JavaScript number holds exactly. */
const SAMPLE_ID = '9007199254740993';

function createPaths(base: string): OpenApiDocument['paths'] {
  const items: Record<string, Record<string, OpenApiOperation>> = {};
  for (const name of OPERATION_NAMES) {
    const { method, path } = OPERATIONS[name];
    const operation: OpenApiOperation = {
      operationId: name,
      tags: ['orders'],
      ...TEXTS[name],
      deprecated: false,
      ...(path.includes('{orderId}') && { parameters: [ORDER_ID] }),
      responses: responsesOf(name),
      'x-codeSamples': createSamples(method, base + path.replace('{orderId}', SAMPLE_ID)),
    };
    items[path] = { ...items[path], [method.toLowerCase()]: operation };
  }
  return items;
}

export interface OpenApiOptions extends Pick<OrderServiceOptions, 'basePath'> {
  /**
   * The address at which clients reach the server, without the base path: `https://shop.example` or
   * `https://shop.example/shop`. Default: the document names no host, and its samples a local one.
   */
  readonly publicUrl?: string | undefined;
}

/** Creates the OpenAPI document. Throws a TypeError that names an invalid option. */
export function createOpenApiDocument(options: OpenApiOptions = {}): OpenApiDocument {
  checkFields('options', options, ['basePath', 'publicUrl']);
  const { basePath = DEFAULTS.basePath, publicUrl } = options;
  checkBasePath(basePath);
  checkPublicUrl(publicUrl);
  const url = (publicUrl ?? '') + basePath;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Store Orders',
      version: '1.0.0',
      summary: 'List the orders of an animal store, and cancel an order.',
      description: DESCRIPTION,
      // There is no `contact`, because each operator of the service has contacts of their own.
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: url === '' ? '/' : url,
        description: 'The server that published this document: production, staging or local.',
        'x-internal': false,
      },
    ],
    tags: [{ name: 'orders', description: 'Orders placed in the store.' }],
    security: [{ [SECURITY_SCHEME]: [] }],
    paths: createPaths((publicUrl ?? SAMPLE_URL) + basePath),
    components: {
      securitySchemes: {
        [SECURITY_SCHEME]: {
          type: 'http',
          scheme: 'bearer',
          description: 'The API key, sent as the bearer token: `Authorization: Bearer <API key>` (RFC 6750).',
        },
      },
      schemas,
      headers,
      responses: createResponses(),
    },
  };
}
