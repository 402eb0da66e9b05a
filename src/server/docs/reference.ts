import { ERROR_CODES, errorObject } from '../../http/errors.js';
import type { OpenApiDocument } from '../../http/openapi/document.js';
import type { OpenApiResponse } from '../../http/openapi/responses.js';
import type { Json } from '../../http/openapi/schemas.js';
import { type CallableOperation, exampleOf, examplesOf, properties, property, propertyText } from './document-parts.js';
import { escapeHtml, jsonBlock, prose, section } from './markup.js';
import { requestSamples } from './samples.js';

/** Returns the section about an operation: its description, parameters, responses and samples. */
export function renderOperation(
  { components }: OpenApiDocument,
  basePath: string,
  described: CallableOperation,
): string {
  const { method, path, operationId, summary, description, parameters = [], responses } = described;
  const answers = Object.entries(responses).flatMap(([status, { $ref }]) => {
    const response = components.responses[$ref.replace('#/components/responses/', '')];
    return response === undefined ? [] : [{ status, response }];
  });
  const exampleResponses = answers
    .filter(({ status }) => status === '200')
    .map(({ response }) => jsonBlock('Response', examplesOf(response)[0]));
  const examplePath = path.replace(/\{\w+\}/, propertyText(parameters[0], 'example'));
  return section(
    operationId,
    summary,
    `<p class="path">${methodMark(method)} <code>${escapeHtml(basePath + path)}</code>
<span class="mark">${described['x-stability']}</span></p>
<p>${prose(description)}</p>
${parameters.length === 0 ? '' : fieldList(parameters.map(renderParameter))}`,
    [requestSamples(operationId, method, examplePath, basePath), ...exampleResponses].join('\n'),
    `<h3>Responses</h3>
<dl class="fields wide answers">
${answers.map(({ status, response }) => responseRow(status, response)).join('\n')}
</dl>`,
  );
}

export function methodMark(method: string): string {
  return `<span class="method ${method.toLowerCase()}">${method}</span>`;
}

function responseRow(status: string, response: OpenApiResponse): string {
  const codes = examplesOf(response).flatMap((example) => property(example, 'code') ?? []);
  const links = codes.map((code) => `<a href="#error-${code}"><code>${code}</code></a>`);
  return `<div><dt><code>${status}</code></dt><dd>${[prose(response.description), ...links].join(' ')}</dd></div>`;
}

/** Returns a section for each object that responses contain, with its fields and an example. */
export function renderObjects({ components }: OpenApiDocument): string {
  return ['Order', 'Error']
    .map((name) => {
      const schema = components.schemas[name] ?? null;
      const fields = properties(property(schema, 'properties'));
      const required = property(schema, 'required');
      const rows = fields.map(([field, type]) =>
        fieldRow(field, type, Array.isArray(required) && required.includes(field), exampleOf(type)),
      );
      return section(
        name.toLowerCase(),
        name,
        `<p>${prose(propertyText(schema, 'description'))}</p>\n${fieldList(rows)}`,
        jsonBlock(`Example: ${name}`, Object.fromEntries(fields.map(([field, type]) => [field, exampleOf(type)]))),
      );
    })
    .join('\n');
}

function renderParameter(json: Json): string {
  const typed = { type: 'integer', format: 'int64', description: propertyText(json, 'description') };
  return fieldRow(propertyText(json, 'name'), typed, true, propertyText(json, 'example'));
}

function fieldList(rows: readonly string[]): string {
  return `<dl class="fields">\n${rows.join('\n')}\n</dl>`;
}

function fieldRow(name: string, field: Json, isRequired: boolean, example: Json): string {
  const type = [propertyText(field, 'type'), propertyText(field, 'format')].filter((text) => text !== '').join(', ');
  const shown = example === '' ? '' : ` <p class="hint">Example: <code>${escapeHtml(String(example))}</code></p>`;
  return `<div><dt><code>${name}</code> <span>${type}</span> <span>${isRequired ? 'required' : 'optional'}</span></dt>
<dd>${prose(propertyText(field, 'description'))}${shown}</dd></div>`;
}

/** Returns every error code with its message, which names the cause and the remedy. */
export function renderErrorCodes(): string {
  const errors = ERROR_CODES.map(errorObject).sort((one, other) => one.status - other.status);
  const rows = errors.map(
    ({ code, message, status }) => `<div><dt><code id="error-${code}">${code}</code> <span>${status}</span></dt>
<dd>${escapeHtml(message)}</dd></div>`,
  );
  return `<section id="errors" aria-labelledby="errors-title">
<h2 id="errors-title">Error codes</h2>
<dl class="fields wide">
${rows.join('\n')}
</dl>
</section>`;
}
