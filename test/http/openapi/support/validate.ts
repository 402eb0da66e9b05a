import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { createOpenApiDocument } from 'store-orders/openapi';
import type { OpenApiResponse } from '../../../../dist/http/openapi/responses.js';
import type { Answer } from '../../support/answer.js';

export const document = createOpenApiDocument();
/** The text of the OpenAPI document, as published. */
export const text = JSON.stringify(document, null, 2);
const published = JSON.parse(text);

export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
);

export function operationOf(name: string): (typeof operations)[number] {
  return operations.find(({ operationId }) => operationId === name) ?? assert.fail(`no operation ${name}`);
}

const ajv = new Ajv2020({ strict: false });
formats.default(ajv);
ajv.addSchema(published, 'openapi.json');

export function validate(pointer: string, value: unknown): void {
  const isValid = ajv.getSchema(`openapi.json${pointer}`);
  assert.ok(isValid, pointer);
  assert.ok(isValid(value), `${JSON.stringify(value)} against ${pointer}: ${ajv.errorsText(isValid.errors)}`);
}

/**
 * Fields that the document does not list. OpenAPI documents `Content-Type` as the media type of the
 * content. Mock servers would send the coding and the length with other bytes. The other fields belong
 * to the connection or come from Node.js.
 */
export const NOT_DOCUMENTED = [
  'content-type',
  'content-encoding',
  'content-length',
  'connection',
  'date',
  'keep-alive',
];

interface Header {
  readonly required?: boolean;
  readonly example: string | number;
  readonly schema: { readonly type: string };
}

/** Fails unless the operation documents the response: exactly its header fields, and its body. */
export function checkDocumented(operation: string, answer: Answer): void {
  const { response, pointer } = documented(operation, answer.status);
  const headers = new Map(
    Object.entries(response.headers).map(([name, header]) => {
      const { $ref = `${pointer}/headers/${name}` } = Object(header);
      return [name.toLowerCase(), String($ref)];
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

function headerAt(pointer: string): Header {
  let value = published;
  for (const name of pointer.slice(2).split('/')) value = value[name];
  return value;
}

interface Documented {
  readonly response: OpenApiResponse;
  readonly pointer: string;
}

/** Returns the response that an operation documents for a status. Fails if there is none. */
export function documented(operation: string, status: number): Documented {
  const pointer = operationOf(operation).responses[status]?.$ref;
  const response = document.components.responses[pointer?.split('/').at(-1) ?? ''];
  assert.ok(pointer !== undefined && response !== undefined, `${operation} documents no ${status}`);
  return { response, pointer };
}

/** Returns the orders of the documented example of a list. */
export function exampleOrders(): readonly { readonly id: bigint }[] {
  const { response } = documented('listOrders', 200);
  const value = response.content?.['application/json'].examples['orders']?.value;
  assert.ok(Array.isArray(value));
  return value.map((order) => ({ ...order, id: BigInt(order.id) }));
}

/** Returns the examples of all header fields, by lower-case name. */
export function headerExamples(): Map<string, string> {
  const headers: Readonly<Record<string, Header>> = published.components.headers;
  return new Map(Object.entries(headers).map(([name, { example }]) => [name.toLowerCase(), String(example)]));
}
