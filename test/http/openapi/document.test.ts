import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { createMemoryOrderStore, type ErrorCode, PLANS } from 'store-orders';
import { createOpenApiDocument } from 'store-orders/openapi';
import type { OpenApiResponse } from '../../../dist/http/openapi/responses.js';
import type { Answer } from '../support/answer.js';
import { bearer, createShop, INT64_MAX, INT64_MIN, KEY, ORDERS, order } from '../support/shop.js';
import { core } from '../support/ways.js';
import { type Operation, PROVOCATIONS, provoke, withAsking } from './support/provoke.js';
import {
  checkDocumented,
  document,
  documented,
  exampleOrders,
  headerExamples,
  operations,
  text,
  validate,
} from './support/validate.js';

function examplesOf(response: OpenApiResponse): [string, unknown][] {
  const examples = Object.entries(response.content?.['application/json'].examples ?? {});
  return examples.map(([name, { value }]) => [name, value]);
}

/** The errors that no operation has, so the document describes them only in its text. */
const ELSEWHERE = [
  ['route_not_found', 404, undefined],
  ['method_not_allowed', 405, 'GET, HEAD'],
  ['method_not_implemented', 501, undefined],
] as const;

function isErrorCode(name: string): name is ErrorCode {
  return Object.hasOwn(PROVOCATIONS, name);
}

/**
 * Provokes each response that an example documents, and compares the actual response with the
 * example.
 */
async function replay(operation: Operation, response: OpenApiResponse, pointer: string): Promise<void> {
  for (const [name, value] of examplesOf(response)) {
    assert.ok(isErrorCode(name), name);
    const answer = await provoke(operation, name);
    checkDocumented(answer, response, pointer);
    assert.deepEqual(JSON.parse(answer.text), value);
  }
}

for (const operation of ['listOrders', 'cancelOrder'] as const) {
  suite(`${operation}: the service sends each documented example of an error, with its header fields and body`, () => {
    for (const status of Object.keys(operations[operation].responses).map(Number)) {
      if (status < 400) continue;
      test(`${status}`, async () => {
        const { response, pointer } = documented(operation, status) ?? assert.fail();
        assert.ok(examplesOf(response).length > 0);
        for (const [, value] of examplesOf(response)) validate('#/components/schemas/Error', value);
        await replay(operation, response, pointer);
      });
    }
  });
}

test('requests that match no operation get an Error object too', async () => {
  for (const [code, status, allow] of ELSEWHERE) {
    const answer = await provoke('listOrders', code);
    validate('#/components/schemas/Error', JSON.parse(answer.text));
    assert.deepEqual([answer.status, answer.fields.get('allow')], [status, allow]);
  }
});

test('the service lists the orders of the documented example exactly as shown there, and cancels the order whose id is the example of orderId', async () => {
  const { response, pointer } = documented('listOrders', 200) ?? assert.fail();
  const shop = createShop({ store: createMemoryOrderStore(exampleOrders()) });
  const free = bearer('free-key');
  const listed = await withAsking('listOrders', shop, ({ ask }) => ask([free]));
  checkDocumented(listed, response, pointer);
  assert.equal(listed.text, JSON.stringify(examplesOf(response)[0]?.[1]));

  const [parameter] = JSON.parse(text).paths['/store/orders/{orderId}'].delete.parameters;
  assert.ok(parameter.example > Number.MAX_SAFE_INTEGER);
  assert.equal(listed.text.includes(`"id":${parameter.example},`), true);
  const cancelled = await withAsking('cancelOrder', shop, ({ ask }) => ask([free], () => order(parameter.example)));
  const { response: none, pointer: nonePointer } = documented('cancelOrder', 204) ?? assert.fail();
  assert.equal(cancelled.status, 204);
  checkDocumented(cancelled, none, nonePointer);
});

test('the examples of the header fields are the values that a key of the free plan gets', async () => {
  const examples = headerExamples();
  const compare = ({ fields }: Answer, ...names: string[]) => {
    for (const name of names) {
      assert.equal(fields.get(name), examples.get(name), name);
      examples.delete(name);
    }
  };
  const ask = (count: number, fields = [bearer('free-key')]) =>
    withAsking('listOrders', createShop(), async ({ ask }) => {
      for (let i = 1; i < count; i++) await ask(fields);
      return ask(fields);
    });
  const limits = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit', 'ratelimit-policy'];
  compare(await ask(1), ...limits);
  compare(await ask(61), 'retry-after', 'cache-control', 'content-length');
  compare(await ask(1, []), 'www-authenticate');
  assert.deepEqual(
    [...examples.keys()],
    ['etag', 'vary', 'content-encoding', 'x-request-id'],
    'see list-cache.test.ts',
  );
});

test('every response to a random request is documented', async () => {
  const requests = fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'DELETE', 'POST', 'PUT', 'OPTIONS', 'BREW'),
    target: fc.oneof(
      fc.constantFrom(ORDERS, `${ORDERS}?page=2`, `${ORDERS}/`, '/v1', '/', '*', `${ORDERS}?${'x'.repeat(9_000)}`),
      fc.oneof(fc.bigInt({ min: -6n, max: 5n }), fc.bigInt({ min: INT64_MIN, max: INT64_MAX })).map(order),
      fc.string().map((id) => order(encodeURIComponent(id))),
    ),
    fields: fc.array(
      fc.constantFrom<readonly [string, string]>(
        KEY,
        bearer('free-key'),
        bearer('tiny-key'),
        bearer('unknown'),
        ['Host', 'a'],
        ['If-None-Match', '*'],
        ['If-Match', '"another"'],
        ['Host', 'a b'],
        ['Accept-Encoding', 'br'],
      ),
      { maxLength: 4 },
    ),
  });
  const { service, clock } = createShop();
  const { ask } = await core.open(service);
  await fc.assert(
    fc.asyncProperty(requests, async ({ method, target, fields }) => {
      clock.advance(100);
      const answer = await ask(method, target, fields);
      const path = target.split('?')[0] ?? '';
      const operation =
        method === 'DELETE' && /^\/v1\/store\/orders\/[^/]+$/.test(path)
          ? 'cancelOrder'
          : ['GET', 'HEAD'].includes(method) && path === ORDERS
            ? 'listOrders'
            : undefined;
      if (operation === undefined && ELSEWHERE.some(([, status]) => status === answer.status)) return;
      // A request that is refused before its path is read gets a response that both operations
      // document.
      const found = documented(operation ?? 'listOrders', answer.status);
      assert.ok(found, `${method} ${target} was answered ${answer.status}`);
      if (method !== 'HEAD') checkDocumented(answer, found.response, found.pointer);
    }),
    { numRuns: 1_000 },
  );
});

test('every error code of an operation has exactly one example, and every error code has a row with its status in src/http/README.md and a place in the schema named Error', () => {
  const examples = Object.values(document.components.responses)
    .flatMap(examplesOf)
    .filter(([name]) => name !== 'orders')
    .map(([code, value]): readonly [string, number] => [code, Object(value).status]);
  const all = [...examples, ...ELSEWHERE];
  const codes = Object.keys(PROVOCATIONS);
  assert.deepEqual(all.map(([code]) => code).toSorted(), codes.toSorted());
  assert.deepEqual(JSON.parse(text).components.schemas.Error.properties.code.enum.toSorted(), codes.toSorted());
  const page = readFileSync(new URL('../../../src/http/README.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)].map(([, status, code]) => `${status} ${code}`);
  assert.deepEqual(rows.toSorted(), all.map(([code, status]) => `${status} ${code}`).toSorted());
});

test('the OpenAPI document has the limits of int64 with all digits, and accepts both as ids', () => {
  for (const limit of [INT64_MIN, INT64_MAX]) {
    assert.equal(
      text.match(new RegExp(`": ${limit},`, 'g'))?.length,
      3,
      `OrderId, id and petId have the limit ${limit}`,
    );
    validate('#/components/schemas/Order', { id: Number(limit) });
  }
  assert.equal(/\d{16,}000\b/.test(text), false);
});

test('the document has the paths, names, parameters, plans, bearer scheme and version of the specification', () => {
  const { components, paths, info, security } = JSON.parse(text);
  const { get } = paths['/store/orders'];
  const { delete: cancel } = paths['/store/orders/{orderId}'];
  assert.deepEqual(Object.keys(paths), ['/store/orders', '/store/orders/{orderId}']);
  assert.deepEqual([get.operationId, get.tags, get.parameters], ['listOrders', ['orders'], undefined]);
  assert.deepEqual([cancel.operationId, cancel.tags], ['cancelOrder', ['orders']]);
  for (const { deprecated, 'x-stability': stability } of [get, cancel]) {
    assert.deepEqual([deprecated, stability], [false, 'stable']);
  }
  const [{ schema, name, in: place, required }] = cancel.parameters;
  assert.deepEqual([name, place, required], ['orderId', 'path', true]);
  assert.equal(schema.$ref, '#/components/schemas/OrderId');
  const { Order, OrderId } = components.schemas;
  assert.deepEqual([OrderId.type, OrderId.format], ['integer', 'int64']);
  assert.equal(Order.required, undefined);
  assert.deepEqual(Object.keys(Order.properties), ['id', 'petId', 'quantity', 'shipDate', 'complete']);
  assert.deepEqual(components.schemas.Error.required, ['code', 'message', 'status']);
  for (const header of ['Limit', 'Remaining', 'Reset']) {
    assert.equal(components.headers[`X-RateLimit-${header}`].required, true);
  }
  assert.deepEqual(security, [{ apiKey: [] }]);
  const { type, scheme } = components.securitySchemes.apiKey;
  assert.deepEqual([type, scheme, info.version], ['http', 'bearer', '1.0.0']);
  for (const { name, policies } of Object.values(PLANS)) {
    assert.ok(info.description.includes(`| ${name} | ${policies.map(({ quota }) => quota).join(' | ')} |`));
  }
});

test('the base path becomes the server’s URL in the document, and an invalid base path throws', () => {
  assert.equal(createOpenApiDocument().servers[0]?.url, '/v1');
  assert.equal(createOpenApiDocument({ basePath: '/shop/v1' }).servers[0]?.url, '/shop/v1');
  assert.equal(createOpenApiDocument({ basePath: '' }).servers[0]?.url, '/');
  assert.throws(() => createOpenApiDocument({ basePath: 'v1' }), /basePath/);
});
