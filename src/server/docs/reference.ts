import type { Json, OpenApiDocument, OpenApiResponse } from '../../http/openapi/document.js';
import { errorsOf, exampleOf, examplesOf, properties, property, propertyText, responseAt } from './document-parts.js';
import { indentJson } from './highlight.js';
import { escapeHtml, jsonBlock, pre, prose, row, section, table } from './markup.js';
import { requestSamples } from './samples.js';

/**
 * Returns the section about an operation: its description and responses, request samples, and a
 * form that sends a request.
 */
export function operation(document: OpenApiDocument, basePath: string, name: 'listOrders' | 'cancelOrder'): string {
  const { paths } = document;
  const cancel = paths['/store/orders/{orderId}'].delete;
  const isCancel = name === 'cancelOrder';
  const { summary, description, deprecated, responses, ...rest } = isCancel ? cancel : paths['/store/orders'].get;
  const method = isCancel ? 'DELETE' : 'GET';
  const path = `${basePath}/store/orders${isCancel ? '/{orderId}' : ''}`;
  const answers = Object.entries(responses).map(([status, { $ref }]) => [status, responseAt(document, $ref)] as const);
  return section(
    name,
    summary,
    `<p class="path"><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code>
<span class="mark">${rest['x-stability']}</span>${deprecated ? ' <span class="mark">deprecated</span>' : ''}</p>
<p>${prose(description)}</p>
${isCancel ? fieldList((rest.parameters ?? []).map(parameter)) : ''}`,
    requestSamples(name, basePath, propertyText(cancel.parameters?.[0], 'example')),
    `<div class="console" role="group" aria-label="Try it: ${summary}">
<form id="${name}-form" class="send">
${isCancel ? ID_FIELD : '<p>Try it with the API key of this page.</p>'}
<button class="primary"><span id="${name}-send">Send</span></button>
</form>
<div id="${name}-answer" class="answer">
${isCancel ? SAMPLE_CANCELLED : sampleList(responseAt(document, '#/components/responses/Orders'))}
</div>
</div>
<h3>Responses</h3>
<dl class="answers">
${answers.map(([status, response]) => answerRow(status, response)).join('\n')}
</dl>`,
  );
}

const ID_FIELD = `<label for="order-id">orderId</label>
<input id="order-id" inputmode="numeric" autocomplete="off" spellcheck="false" required>`;

const SAMPLE_CANCELLED =
  '<p class="line"><span class="status good">204 No Content</span> <span class="hint">Sample response, without a body</span></p>';

function sampleList(response: OpenApiResponse): string {
  return `<p class="line"><span class="status good">200 OK</span> <span class="hint">Sample response</span></p>
${pre('Sample response', indentJson(JSON.stringify(examplesOf(response)[0])))}`;
}

function answerRow(status: string, response: OpenApiResponse): string {
  const codes = examplesOf(response).flatMap((example) => property(example, 'code') ?? []);
  const links = codes.map((code) => `<a href="#error-${code}"><code>${code}</code></a>`);
  return `<div><dt>${status}</dt><dd>${[prose(response.description), ...links].join(' ')}</dd></div>`;
}

/** Returns a section for each object that responses contain, with its fields and an example. */
export function objects({ components }: OpenApiDocument): string {
  return ['Order', 'Error']
    .map((name) => {
      const schema = components.schemas[name] ?? null;
      const example = properties(property(schema, 'properties')).map(([field, type]) => [field, exampleOf(type)]);
      return section(
        name.toLowerCase(),
        name,
        schemaFields(schema),
        jsonBlock(`Example: ${name}`, Object.fromEntries(example)),
      );
    })
    .join('\n');
}

function schemaFields(schema: Json): string {
  const required = property(schema, 'required');
  const rows = properties(property(schema, 'properties')).map(([name, field]) =>
    fieldRow(name, field, Array.isArray(required) && required.includes(name), exampleOf(field)),
  );
  return `<p>${prose(propertyText(schema, 'description'))}</p>\n${fieldList(rows)}`;
}

function parameter(json: Json): string {
  const typed = { type: 'integer', format: 'int64', description: propertyText(json, 'description') };
  return fieldRow(propertyText(json, 'name'), typed, true, propertyText(json, 'example'));
}

function fieldList(rows: readonly string[]): string {
  return `<dl class="fields">\n${rows.join('\n')}\n</dl>`;
}

function fieldRow(name: string, field: Json, isRequired: boolean, example: Json): string {
  const type = [propertyText(field, 'type'), propertyText(field, 'format')].filter((text) => text !== '').join(', ');
  const shown =
    example === '' ? '' : ` <span class="example">Example: <code>${escapeHtml(String(example))}</code></span>`;
  return `<div><dt><code>${name}</code> <span>${type}</span> <span>${isRequired ? 'required' : 'optional'}</span></dt>
<dd>${prose(propertyText(field, 'description'))}${shown}</dd></div>`;
}

/** Returns every error code with its message, which names the cause and the remedy. */
export function errorCodes(document: OpenApiDocument): string {
  const rows = errorsOf(document).map((error) => {
    const code = propertyText(error, 'code');
    const message = escapeHtml(propertyText(error, 'message'));
    return row(`<code id="error-${code}">${code}</code>`, propertyText(error, 'status'), message);
  });
  return `<section id="errors" aria-labelledby="errors-title">
<h2 id="errors-title">Error codes</h2>
${table('plain errors', ['Code', 'Status', 'Message'], rows)}
</section>`;
}
