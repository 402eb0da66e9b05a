import { ERROR_CODES, errorObject } from '../../http/index.js';
import type { OpenApiDocument, OpenApiOperation } from '../../http/openapi/index.js';
import { errorLink, escapeHtml, fieldList, figure, jsonBlock, pre, prose, section } from './markup.js';

type Schema = OpenApiDocument['components']['schemas'][string];

/** The base path, and the address of the service in samples, which ends with it. */
export interface Addresses {
  readonly basePath: string;
  readonly base: string;
}

/** An operation with the method and the path that call it. */
interface CallableOperation extends OpenApiOperation {
  readonly method: string;
  readonly path: string;
}

/** Returns all operations of the document, in its order. */
export function operationsOf({ paths }: OpenApiDocument): readonly CallableOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

/**
 * Returns the section about an operation: its description, parameters, samples and responses.
 * Scripts replace the address `base` in the samples with the page's own.
 */
export function renderOperation(
  { components }: OpenApiDocument,
  operation: CallableOperation,
  { basePath, base }: Addresses,
): string {
  const { method, path, operationId, summary, description, parameters = [], responses } = operation;
  const documented = Object.entries(responses).flatMap(([status, { $ref }]) => {
    const response = components.responses[$ref.replace('#/components/responses/', '')];
    const examples = Object.entries(response?.content?.['application/json'].examples ?? {});
    return response === undefined ? [] : [{ status, response, examples }];
  });
  const [shown] = documented.find(({ status }) => status === '200')?.examples ?? [];
  return section(
    operationId,
    summary,
    `<p class="path">${methodMark(method)} <code>${escapeHtml(basePath + path)}</code> <span class="mark">${operation['x-stability']}</span></p>
<p>${prose(description)}</p>
${parameters.length === 0 ? '' : fieldList(parameters.map(({ name, description, example }) => fieldRow(name, { ...components.schemas['OrderId'], type: 'integer', description, examples: [example] }, true)))}
${requestSamples(operation, base)}
${shown === undefined ? '' : jsonBlock('Response', shown[1].value)}
<h3>Responses</h3>
${fieldList(
  documented.map(({ status, response, examples }) => {
    const links = Number(status) < 400 ? [] : examples.map(([code]) => errorLink(code));
    return [`<code>${status}</code>`, [prose(response.description), ...links].join(' ')];
  }),
  ' wide responses',
)}`,
  );
}

export function methodMark(method: string): string {
  return `<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** Returns the request samples of an operation. A group of radio buttons selects the language. */
function requestSamples({ operationId, 'x-codeSamples': samples }: CallableOperation, base: string): string {
  const choices = samples.map(
    ({ label }, index) =>
      `<label><input type="radio" name="${operationId}-language" value="${label}"${index === 0 ? ' checked' : ''}>${label}</label>`,
  );
  const blocks = samples.map(
    ({ label, source }) => `<div data-language="${label}">${pre(`Request, ${label}`, source)}</div>`,
  );
  const languages = `<span class="languages" role="radiogroup" aria-label="Language">${choices.join('')}</span>`;
  const address = escapeHtml(base);
  return figure('the request', languages, blocks.join('\n')).replaceAll(
    address,
    `<span data-fill="base">${address}</span>`,
  );
}

/** Returns a section for each object that responses contain, with its fields and an example. */
export function renderObjects({ components: { schemas } }: OpenApiDocument): string {
  return ['Order', 'Error']
    .map((name) => {
      const { description = '', properties = {}, required = [] } = schemas[name] ?? {};
      const fields = Object.entries(properties);
      const rows = fields.map(([field, schema]) => fieldRow(field, schema, required.includes(field)));
      const example = Object.fromEntries(fields.map(([field, { examples }]) => [field, examples?.[0]]));
      const content = `<p>${prose(description)}</p>\n${fieldList(rows)}\n${jsonBlock(`Example: ${name}`, example)}`;
      return section(name.toLowerCase(), name, content);
    })
    .join('\n');
}

function fieldRow(name: string, schema: Schema, isRequired: boolean): readonly [string, string] {
  const { type, format, description = '', examples: [example] = [] } = schema;
  const shown = example === undefined ? '' : ` <p class="hint">Example: <code>${escapeHtml(`${example}`)}</code></p>`;
  return [
    `<code>${name}</code> <span>${type}${format === undefined ? '' : `, ${format}`}</span> <span>${isRequired ? 'required' : 'optional'}</span>`,
    prose(description) + shown,
  ];
}

/** Returns the header fields of responses. */
export function renderHeaders({ components: { headers } }: OpenApiDocument): string {
  const rows = Object.entries(headers).map(([name, { description }]): readonly [string, string] => [
    `<code>${name}</code>`,
    prose(description),
  ]);
  return section('headers', 'Response headers', fieldList(rows, ' wide'));
}

/** Returns every error code with its message, which names the cause and the remedy. */
export function renderErrorCodes(): string {
  const errors = ERROR_CODES.map((code) => errorObject(code)).sort((one, other) => one.status - other.status);
  const rows = errors.map(({ code, message, status }): readonly [string, string] => [
    `<code id="error-${code}">${code}</code> <span>${status}</span>`,
    escapeHtml(message),
  ]);
  return section('error-codes', 'Error codes', fieldList(rows, ' wide'));
}
