import type { OpenApiDocument, OpenApiOperation } from '../../http/openapi/document.js';
import type { OpenApiResponse } from '../../http/openapi/responses.js';
import type { Json } from '../../http/openapi/schemas.js';

/** An operation with the method and the path that call it. */
export interface CallableOperation extends OpenApiOperation {
  readonly method: string;
  readonly path: string;
}

/** Returns all operations of the document, in its order. */
export function operationsOf({ paths }: OpenApiDocument): readonly CallableOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries<OpenApiOperation>(item).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
}

/** Returns a property of a JSON object, or `undefined` if it is absent. */
export function property(json: Json | undefined, name: string): Json | undefined {
  return properties(json).find(([key]) => key === name)?.[1];
}

/** Returns the names and values of a JSON object, or an empty array for any other JSON. */
export function properties(json: Json | undefined): readonly [string, Json][] {
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? Object.entries(json) : [];
}

/** Returns a property as text, or an empty string if it is absent. */
export function propertyText(json: Json | undefined, name: string): string {
  return String(property(json, name) ?? '');
}

/** Returns the first example of a schema, or an empty string if it has none. */
export function exampleOf(schema: Json): Json {
  const values = property(schema, 'examples');
  return Array.isArray(values) ? values[0] : '';
}

export function examplesOf({ content }: OpenApiResponse): readonly Json[] {
  return Object.values(content?.['application/json'].examples ?? {}).map(({ value }) => value);
}
