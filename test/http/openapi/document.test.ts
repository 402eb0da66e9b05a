import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMemoryOrderStore, type ErrorCode } from 'store-orders';
import { createOpenApiDocument } from 'store-orders/openapi';
import type { OpenApiResponse } from '../../../dist/http/openapi/responses.js';
import { INT64_MAX, INT64_MIN } from '../../orders/support/ids.js';
import type { Answer } from '../support/answer.js';
import { onReplies } from '../support/replies.js';
import { bearer, createShop, KEY, ORDERS, order } from '../support/shop.js';
import { asking } from '../support/ways.js';
import { askingFor, PROVOCATIONS, provoke } from './support/provoke.js';
import {
  checkDocumented,
  document,
  documented,
  exampleOrders,
  headerExamples,
  NOT_DOCUMENTED,
  operations,
  text,
  validate,
} from './support/validate.js';

const FREE = bearer('free-key');

function examplesOf(response: OpenApiResponse): [string, unknown][] {
  const examples = Object.entries(response.content?.['application/json'].examples ?? {});
  return examples.map(([name, { value }]) => [name, value]);
}

/** The errors that no operation has, so the document describes them only in its text. */
const ELSEWHERE = [
  ['route_not_found', 404],
  ['method_not_allowed', 405],
  ['method_not_implemented', 501],
] as const;

function isErrorCode(name: string): name is ErrorCode {
  return Object.hasOwn(PROVOCATIONS, name);
}

for (const { operationId: operation, responses } of operations) {
  for (const status of Object.keys(responses).map(Number)) {
    if (status < 400) continue;
    test(`${operation}: the service sends each documented example of a ${status}, with its header fields and body`, async () => {
      const examples = examplesOf(documented(operation, status).response);
      assert.ok(examples.length > 0);
      for (const [name, value] of examples) {
        assert.ok(isErrorCode(name), name);
        validate('#/components/schemas/Error', value);
        const answer = await provoke(operation, name);
        checkDocumented(operation, answer);
        assert.deepEqual([answer.status, answer.text], [status, JSON.stringify(value)]);
      }
    });
  }
}

test('the service lists the orders of the documented example exactly as shown there, and cancels the order whose id is the example of orderId', async () => {
  const shop = createShop({ store: createMemoryOrderStore(exampleOrders()) });
  const listed = await askingFor('listOrders', shop).ask([FREE]);
  checkDocumented('listOrders', listed);
  assert.equal(listed.text, JSON.stringify(examplesOf(documented('listOrders', 200).response)[0]?.[1]));

  const [parameter] = JSON.parse(text).paths['/store/orders/{orderId}'].delete.parameters;
  assert.ok(parameter.example > Number.MAX_SAFE_INTEGER);
  assert.equal(listed.text.includes(`"id":${parameter.example},`), true);
  const cancelled = await askingFor('cancelOrder', shop).ask([FREE], order(parameter.example));
  assert.equal(cancelled.status, 204);
  checkDocumented('cancelOrder', cancelled);
});

test('the examples of the header fields are the values that a key of the free plan gets, and the tag of the documented orders leads to a 304', async () => {
  const examples = headerExamples();
  const compare = ({ fields }: Answer, ...names: string[]) => {
    for (const name of names) {
      assert.equal(fields.get(name), examples.get(name), name);
      examples.delete(name);
    }
  };
  const { ask } = askingFor('listOrders', createShop({ store: createMemoryOrderStore(exampleOrders()) }));
  const unchanged = await ask([FREE, ['If-None-Match', examples.get('etag') ?? '']]);
  assert.equal(unchanged.status, 304, `the example of ETag must be ${unchanged.fields.get('etag')}`);
  checkDocumented('listOrders', unchanged);
  const limits = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit', 'ratelimit-policy'];
  compare(unchanged, 'etag', 'vary', ...limits);
  for (let i = 1; i < 60; i++) await ask([FREE]);
  compare(await ask([FREE]), 'retry-after', 'cache-control');
  compare(await ask([]), 'www-authenticate');
  assert.deepEqual([...examples.keys()], ['x-request-id']);
});

test('the example of X-Request-Id has the form of the ids that the service creates', async (t) => {
  t.after(onReplies(() => {}));
  const { fields } = await asking(createShop().service)('GET', ORDERS);
  const formOf = (id = '') => id.replace(/[\da-f]/g, 'x');
  assert.equal(formOf(headerExamples().get('x-request-id')), formOf(fields.get('x-request-id')));
});

test('a list that is long enough is compressed as documented', async () => {
  const store = createMemoryOrderStore(Array.from({ length: 1_000 }, (_, id) => ({ id: BigInt(id) })));
  const { ask } = askingFor('listOrders', createShop({ store }));
  for (const coding of ['gzip', 'br']) {
    const answer = await ask([FREE, ['Accept-Encoding', coding]]);
    assert.equal(answer.fields.get('content-encoding'), coding);
    // The body is compressed, so the check uses a plain list instead.
    checkDocumented('listOrders', { ...answer, text: '[]' });
  }
});

/** Returns the name of the documented operation that the request asks for, if any. */
function operationAt(method: string, target: string): string | undefined {
  const path = (target.split('?')[0] ?? '').replace(/^\/v1(\/store\/orders\/)[^/]+$/, '$1{orderId}');
  const found = operations.find((operation) => {
    return path.replace(/^\/v1/, '') === operation.path && method.replace('HEAD', 'GET') === operation.method;
  });
  return found?.operationId;
}

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
        FREE,
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
  const ask = asking(service);
  await fc.assert(
    fc.asyncProperty(requests, async ({ method, target, fields }) => {
      clock.advance(100);
      const answer = await ask(method, target, fields);
      const operation = operationAt(method, target);
      if (operation === undefined && ELSEWHERE.some(([, status]) => status === answer.status)) {
        if (method !== 'HEAD') validate('#/components/schemas/Error', JSON.parse(answer.text));
        return;
      }
      // A request that is refused before its path is read gets a response that every operation
      // documents.
      if (method === 'HEAD') documented(operation ?? 'listOrders', answer.status);
      else checkDocumented(operation ?? 'listOrders', answer);
    }),
    { numRuns: 1_000 },
  );
});

test('every error code of an operation has exactly one example, and every error code has a row with its status in src/http/README.md and a place in the schema named Error', () => {
  const examples = Object.values(document.components.responses)
    .flatMap(examplesOf)
    .filter(([, value]) => 'code' in Object(value))
    .map(([code, value]): readonly [string, number] => [code, Object(value).status]);
  const all = [...examples, ...ELSEWHERE];
  const codes = Object.keys(PROVOCATIONS);
  assert.deepEqual(all.map(([code]) => code).toSorted(), codes.toSorted());
  assert.deepEqual(JSON.parse(text).components.schemas.Error.properties.code.enum.toSorted(), codes.toSorted());
  const page = readFileSync(new URL('../../../src/http/README.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)].map(([, status, code]) => `${status} ${code}`);
  assert.deepEqual(rows.toSorted(), all.map(([code, status]) => `${status} ${code}`).toSorted());
});

test('together, the examples of the fields of an order or an error are an example in a response', () => {
  const examples = Object.values(document.components.responses).flatMap(examplesOf);
  const shown = examples.flatMap(([, value]) => value).map((value) => JSON.stringify(value));
  for (const name of ['Order', 'Error']) {
    const fields = Object.entries(JSON.parse(text).components.schemas[name].properties);
    const example = JSON.stringify(Object.fromEntries(fields.map(([field, of]) => [field, Object(of).examples[0]])));
    assert.ok(shown.includes(example), example);
  }
});

test('no response documents the coding or the length of its bytes, because mock servers would send them with others', () => {
  const documented = Object.values(document.components.responses).flatMap(({ headers }) => Object.keys(headers));
  assert.deepEqual(
    documented.filter((name) => NOT_DOCUMENTED.includes(name.toLowerCase())),
    [],
  );
});

test('every schema of the OpenAPI document with keywords names its type, and none is a const, because generators leave out a response with such a part', () => {
  JSON.parse(text, (_name, value) => {
    const keywords = ['const', 'enum', 'items', 'minimum', 'pattern', 'properties'].filter((key) => Object(value)[key]);
    if (keywords.length > 0) assert.equal(typeof value.type, 'string', JSON.stringify(value));
    assert.ok(!keywords.includes('const'), JSON.stringify(value));
    return value;
  });
});

test('every integer of the OpenAPI document is exact as a number of JavaScript, so that every JSON parser reads it', () => {
  for (const [integer] of text.matchAll(/(?<=[ [])-?\d+(?=[,\n\]])/g)) assert.equal(`${Number(integer)}`, integer);
  for (const limit of [INT64_MIN, INT64_MAX]) validate('#/components/schemas/Order', { id: Number(limit) });
});

test('the base path and the public URL become the server’s URL in the document, and an invalid one throws', () => {
  assert.equal(createOpenApiDocument({ basePath: '/shop/v1' }).servers[0]?.url, '/shop/v1');
  assert.equal(createOpenApiDocument({ basePath: '' }).servers[0]?.url, '/');
  const publicUrl = 'https://shop.example/shop';
  assert.equal(createOpenApiDocument({ publicUrl }).servers[0]?.url, 'https://shop.example/shop/v1');
  for (const wrong of [
    'ftp://shop.example',
    'https://shop.example/',
    'https://a:b@shop.example',
    "https://shop.example/'",
    'https://shop.example/..',
    'https://shop.example?a',
  ]) {
    assert.throws(() => createOpenApiDocument({ publicUrl: wrong }), /publicUrl/, wrong);
  }
});
