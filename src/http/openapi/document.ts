import { checkFields } from '../../check.js';
import { planTable } from '../../limits/plan-table.js';
import { OPERATION_NAMES, OPERATIONS, type OperationName } from '../operations.js';
import { checkBasePath } from '../route.js';
import type { OrderServiceOptions } from '../service.js';
import { createResponses, type OpenApiResponse, responsesOf } from './responses.js';
import { EXAMPLE_ID, headers, type Json, type Reference, refer, schemas } from './schemas.js';

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated: boolean;
  /** `beta` and `experimental` operations may change in any version. */
  readonly 'x-stability': 'stable' | 'beta' | 'experimental';
  readonly parameters?: readonly Json[];
  /** References to response components, by status. */
  readonly responses: Readonly<Record<string, Reference>>;
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
    readonly schemas: Readonly<Record<string, Json>>;
    readonly headers: Readonly<Record<string, Json>>;
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

const ORDER_ID: Json = {
  name: 'orderId',
  in: 'path',
  required: true,
  description:
    'The order id, digit for digit as listed. Other spellings of the number (`01`, `+1`, `1e0`) return 404 `invalid_order_id`.',
  schema: refer('schemas', 'OrderId'),
  example: EXAMPLE_ID,
};

function createPaths(): OpenApiDocument['paths'] {
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
    };
    items[path] = { ...items[path], [method.toLowerCase()]: operation };
  }
  return items;
}

/** Creates the OpenAPI document. Throws a TypeError that names an invalid option. */
export function createOpenApiDocument(options: Pick<OrderServiceOptions, 'basePath'> = {}): OpenApiDocument {
  checkFields('options', options, ['basePath']);
  const { basePath = '/v1' } = options;
  checkBasePath(basePath);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Store Orders',
      version: '1.0.0',
      summary: 'List the orders of an animal store, and cancel an order.',
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: basePath === '' ? '/' : basePath,
        description: 'The server that published this document: production, staging or local.',
        'x-internal': false,
      },
    ],
    tags: [{ name: 'orders', description: 'Orders placed in the store.' }],
    security: [{ [SECURITY_SCHEME]: [] }],
    paths: createPaths(),
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

/** Serialises the document as JSON, with the limits of int64 that `JSON.stringify` would round. */
export function serializeOpenApiDocument(document: OpenApiDocument): string {
  return JSON.stringify(document, null, 2)
    .replaceAll('-9223372036854776000', '-9223372036854775808')
    .replaceAll('9223372036854776000', '9223372036854775807');
}

const DESCRIPTION = `Lists the orders placed in the store, and cancels an order by its id.

## Identifiers

\`id\` and \`petId\` are 64-bit integers. Keep every digit: a rounded id names a different order, and cancelling that order
returns 204.

| language | exact | rounds above 2^53 |
| --- | --- | --- |
| JavaScript | \`string\`, \`bigint\` | \`JSON.parse\`, \`response.json()\`, generated clients |
| Python | \`int\`, from \`json\` | \`float\`; pandas if an id is missing |
| Go | \`int64\` in a struct, \`Decoder.UseNumber()\` | \`any\`, \`map[string]any\` |
| Java | \`Long\` fields with Gson | \`Double\`; Gson into a \`Map\` |
| shell | \`sed\` before \`jq\` | \`jq\` 1.6 |

In JavaScript, read the ids as strings. A generated client needs a \`fetch\` that does this to the body of each response:

\`\`\`js
JSON.parse(text.replace(/"(id|petId)":\\s*(-?\\d+)/g, '"$1":"$2"'))
\`\`\`

In a shell, quote the ids before \`jq\` reads them:

\`\`\`sh
sed -E 's/"(id|petId)":(-?[0-9]+)/"\\1":"\\2"/g' | jq -r '.[].id'
\`\`\`

## Rate limits

${planRows()}

An allowed request counts against every window of its plan. A refused request counts against none. Every response
carries the \`X-RateLimit-*\` headers, which describe the window that will refuse first, and \`RateLimit\`, which
describes every window.
After a 429 or 503, wait the number of seconds in \`Retry-After\`. If the next request is refused too, double the wait each
time. A key that keeps sending without waiting can be temporarily banned. A \`DELETE\` can be repeated: after a lost
response, 409 \`order_already_cancelled\` means that the order is cancelled.

Requests without a valid key are limited by client address. For higher limits, change the plan. Enterprise limits
are agreed individually.

## Errors

Every error is a JSON object with \`code\`, \`message\` and \`status\`. An unknown path returns 404 \`route_not_found\`. An
unsupported method on a known path returns 405 \`method_not_allowed\` with an \`Allow\` header.

## Versions and stability

The path begins with the version. Each operation has a stability mark in \`x-stability\`: \`stable\`, \`beta\` or
\`experimental\`. An operation that will be removed is marked \`deprecated\`.`;

/** Returns the plans as a Markdown table. */
function planRows(): string {
  const { windows, rows } = planTable();
  const head = ['plan', ...windows.map((window) => `requests per ${window}`)];
  return [head, ['---', ...windows.map(() => '---:')], ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
