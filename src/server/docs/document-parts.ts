import type { Json, OpenApiDocument, OpenApiResponse } from '../../http/openapi/document.js';

/** A property of a JSON object; `undefined` if it is absent. */
export function property(json: Json | undefined, name: string): Json | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  return Object.entries(json).find(([key]) => key === name)?.[1];
}

/** The properties of a JSON object, in their order. */
export function properties(json: Json | undefined): readonly [string, Json][] {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? Object.entries(json) : [];
}

/** A property as text; empty if it is absent. */
export function propertyText(json: Json | undefined, name: string): string {
  return String(property(json, name) ?? '');
}

/** The first example of a schema, or its first allowed value; empty without either. */
export function exampleOf(schema: Json): Json {
  const values = property(schema, 'examples') ?? property(schema, 'enum');
  return Array.isArray(values) ? values[0] : '';
}

export function examplesOf({ content }: OpenApiResponse): readonly Json[] {
  return Object.values(content?.['application/json'].examples ?? {}).map(({ value }) => value);
}

/** The Error objects among the examples of all responses, by status. */
export function errorsOf({ components, 'x-responses-elsewhere': elsewhere }: OpenApiDocument): readonly Json[] {
  return [...Object.values(components.responses), ...Object.values(elsewhere)]
    .flatMap(examplesOf)
    .filter((example) => property(example, 'code') !== undefined)
    .sort((one, other) => Number(property(one, 'status')) - Number(property(other, 'status')));
}

/** The response that a reference names. */
export function responseAt({ components }: OpenApiDocument, $ref: string): OpenApiResponse {
  const response = components.responses[$ref.split('/').at(-1) ?? ''];
  if (response === undefined) throw new TypeError(`the document has no ${$ref}`);
  return response;
}
