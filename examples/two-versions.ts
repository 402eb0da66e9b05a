/**
 * Serves two versions in one server, over one store and behind the same keys and quotas: v1 by this
 * package, and a v2 of the host's own, which lists the orders page by page. One OpenAPI document
 * describes both.
 *
 *     node --import tsx examples/two-versions.ts
 *     curl -H 'Authorization: Bearer open-sesame' 'http://127.0.0.1:3000/v2/store/orders?limit=1'
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createOrderService, type ErrorCode, errorObject, fixedPath, nodeHandler, type Order } from 'store-orders';
import { createGuard, nodeGuard } from 'store-orders/guard';
import { parseOrderId, serializeOrder } from 'store-orders/json';
import { createOpenApiDocument, type OpenApiDocument, type OpenApiOperation } from 'store-orders/openapi';
import { authenticate, limiter, port, rows, store } from './orders.ts';

/** Returns the parameters of a request for a page, or what is wrong with one of them. */
function readQuery(url = '') {
  const { searchParams } = new URL(url, 'http://localhost');
  const limit = Number(searchParams.get('limit') ?? 100);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) return 'limit: expected a whole number from 1 to 1000';
  const cursor = searchParams.get('cursor');
  const after = cursor === null ? undefined : parseOrderId(cursor);
  if (cursor !== null && after === undefined) return 'cursor: expected the "next" of an earlier page';
  const complete = searchParams.get('complete');
  if (complete !== null && !['true', 'false'].includes(complete)) return 'complete: expected true or false';
  return { limit, after, complete: complete === null ? undefined : complete === 'true' };
}

// A real host selects the page in its database.
function listPage(request: IncomingMessage, response: ServerResponse): void {
  const query = readQuery(request.url);
  if (request.method !== 'GET') fail(response.setHeader('Allow', 'GET'), 'method_not_allowed');
  else if (typeof query === 'string') fail(response, 'bad_request', query);
  else sendJson(response, 200, serializePage(query));
}

function serializePage({ limit, after, complete }: Exclude<ReturnType<typeof readQuery>, string>): string {
  const isWanted = (order: Order) =>
    (after === undefined || order.id > after) && (complete === undefined || order.complete === complete);
  const orders = rows.filter(isWanted);
  const page = orders.slice(0, limit);
  const next = orders.length > limit ? `,"next":"${page.at(-1)?.id}"` : '';
  return `{"orders":[${page.map(serializeOrder).join(',')}]${next}}`;
}

function fail(response: ServerResponse, code: ErrorCode, message?: string): void {
  const error = errorObject(code, message);
  sendJson(response, error.status, JSON.stringify(error));
}

function sendJson(response: ServerResponse, status: number, json: string): void {
  const fields = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) };
  response.writeHead(status, fields).end(json);
}

type Parameter = NonNullable<OpenApiOperation['parameters']>[number];

function parameter(
  name: string,
  schema: Parameter['schema'],
  description: string,
  example: Parameter['example'],
): Parameter {
  return { name, in: 'query', required: false, description, schema, example };
}

/** What the guard responds to a request that it does not let through. */
const GUARD_STATUSES = ['401', '429', '500', '503'];

/** The document of v1, whose paths get their whole names, and the path of v2. */
function createDocument(): OpenApiDocument {
  const { paths, components, ...v1 } = createOpenApiDocument();
  const list = paths['/store/orders']?.['get'];
  const listed = components.responses['Orders'];
  if (list === undefined || listed === undefined) throw new Error('v1 has no list');
  // The guard sends the limit fields. The fields for caches belong to v1's list alone.
  const isSent = ([name]: readonly [string, unknown]) => name.includes('RateLimit');
  const headers = Object.fromEntries(Object.entries(listed.headers ?? {}).filter(isSent));
  const json = (schema: string) => ({
    'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, examples: {} },
  });
  const listPage: OpenApiOperation = {
    ...list,
    operationId: 'listOrderPage',
    summary: 'List a page of the orders',
    description: 'Returns some orders, ascending by id, and the cursor of the next page, if there is one.',
    'x-stability': 'beta',
    'x-codeSamples': [],
    parameters: [
      parameter('limit', { type: 'integer', minimum: 1, maximum: 1_000 }, 'The most orders in the page.', 100),
      parameter('cursor', { type: 'string' }, 'The `next` of the page before.', '9007199254740993'),
      parameter('complete', { type: 'boolean' }, 'Whether the orders have been fulfilled.', true),
    ],
    responses: {
      ...Object.fromEntries(Object.entries(list.responses).filter(([status]) => GUARD_STATUSES.includes(status))),
      200: { $ref: '#/components/responses/OrderPage' },
      400: { $ref: '#/components/responses/BadQuery' },
    },
  };
  const orders = { type: 'array', items: { $ref: '#/components/schemas/Order' } };
  return {
    ...v1,
    servers: [{ url: '/', description: 'The server that published this document.', 'x-internal': false }],
    paths: {
      ...Object.fromEntries(Object.entries(paths).map(([path, item]) => [`/v1${path}`, item])),
      '/v2/store/orders': { get: listPage },
    },
    components: {
      ...components,
      schemas: {
        ...components.schemas,
        OrderPage: { type: 'object', required: ['orders'], properties: { orders, next: { type: 'string' } } },
      },
      responses: {
        ...components.responses,
        OrderPage: { description: 'A page of the orders.', headers, content: json('OrderPage') },
        BadQuery: { description: 'A parameter of the query is not valid.', headers, content: json('Error') },
      },
    },
  };
}

const document = fixedPath('application/json', () => JSON.stringify(createDocument()));
const service = createOrderService({ store, limiter, authenticate, paths: { '/openapi.json': document } });
const v1 = nodeHandler(service);
const guard = nodeGuard(createGuard({ limiter, authenticate }));

const server = createServer((request, response) =>
  v1(request, response, () => {
    const [path] = (request.url ?? '').split('?', 1);
    if (path === '/v2/store/orders') return guard(request, response, () => listPage(request, response));
    response.writeHead(path === '/' ? 200 : 404, { 'Content-Type': 'text/plain' });
    response.end(path === '/' ? 'the host\n' : 'nothing here\n');
  }),
);

server.listen(port, '127.0.0.1', () => console.log('listening on', server.address()));
