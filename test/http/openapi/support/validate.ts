import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { createOpenApiDocument, serializeOpenApiDocument } from 'store-orders/openapi';
import type { OpenApiResponse } from '../../../../dist/http/openapi/responses.js';
import type { Answer } from '../../support/answer.js';

/** The text of the OpenAPI document, as published. */
export const text = serializeOpenApiDocument(createOpenApiDocument());
export const document = createOpenApiDocument();

const ajv = new Ajv2020({ strict: false });
formats.default(ajv);
ajv.addSchema(JSON.parse(text), 'openapi.json');

export function validate(pointer: string, value: unknown): void {
  const isValid = ajv.getSchema(`openapi.json${pointer}`);
  assert.ok(isValid, pointer);
  assert.ok(isValid(value), `${JSON.stringify(value)} against ${pointer}: ${ajv.errorsText(isValid.errors)}`);
}

/**
 * Fields that the document does not list. OpenAPI documents `Content-Type` as the media type of the
 * content. The other fields belong to the connection or come from Node.js.
 */
const NOT_DOCUMENTED = ['content-type', 'connection', 'date', 'keep-alive'];

/** Fails unless the response has exactly the documented header fields, and a documented body. */
export function checkDocumented(answer: Answer, response: OpenApiResponse, pointer: string): void {
  const headers = new Map(
    Object.entries(response.headers).map(([name, header]) => {
      const isReference = typeof header === 'object' && header !== null && '$ref' in header;
      return [name.toLowerCase(), isReference ? String(header['$ref']) : `${pointer}/headers/${name}`];
    }),
  );
  for (const [name, value] of answer.fields) {
    if (NOT_DOCUMENTED.includes(name)) continue;
    const found = headers.get(name);
    assert.ok(found, `${answer.status} has ${name}, which ${pointer} does not`);
    const isNumber = headerAt(found).schema.type === 'integer';
    validate(`${found}/schema`, isNumber ? Number(value) : value);
  }
  for (const [name, found] of headers) {
    if (headerAt(found).required) assert.ok(answer.fields.has(name), `${answer.status} lacks ${name}`);
  }
  assert.equal(response.content === undefined, answer.text === '', `${answer.status} has a body if one is documented`);
  if (response.content === undefined) return;
  assert.equal(answer.fields.get('content-type'), 'application/json');
  validate(`${pointer}/content/application~1json/schema`, JSON.parse(answer.text));
}

interface Header {
  readonly required?: boolean;
  readonly example: string | number;
  readonly schema: { readonly type: string };
}

function headerAt(pointer: string): Header {
  let value = JSON.parse(text);
  for (const name of pointer.slice(2).split('/')) value = value[name];
  return value;
}

interface Documented {
  readonly response: OpenApiResponse;
  readonly pointer: string;
}

/** Returns the response that an operation documents for a status, or `undefined`. */
export function documented(operation: 'listOrders' | 'cancelOrder', status: number): Documented | undefined {
  const { responses } = operations[operation];
  const ref = responses[status]?.$ref;
  const response = document.components.responses[ref?.split('/').at(-1) ?? ''];
  return ref === undefined || response === undefined ? undefined : { response, pointer: ref };
}

/** Returns the orders of the documented example of a list. */
export function exampleOrders(): readonly { readonly id: bigint }[] {
  const value = documented('listOrders', 200)?.response.content?.['application/json'].examples['orders']?.value;
  assert.ok(Array.isArray(value));
  return value.map((order) => ({ ...order, id: BigInt(order.id) }));
}

export const operations = {
  listOrders: document.paths['/store/orders']?.['get'] ?? assert.fail(),
  cancelOrder: document.paths['/store/orders/{orderId}']?.['delete'] ?? assert.fail(),
};

/** Returns the examples of all header fields, by lower-case name. */
export function headerExamples(): Map<string, string> {
  const headers: Readonly<Record<string, Header>> = JSON.parse(text).components.headers;
  return new Map(Object.entries(headers).map(([name, { example }]) => [name.toLowerCase(), String(example)]));
}
