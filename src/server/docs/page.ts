import type { OpenApiDocument, OpenApiOperation, OpenApiResponse } from '../../http/openapi/document.js';
import { PLANS } from '../../limits/index.js';

/** The documentation page: everything that is known beforehand, taken from the document; the rest is the browser's. */
export function printPage(document: OpenApiDocument): string {
  const { info, paths } = document;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(info.title)} ${text(info.version)}</title>
<link rel="icon" href="docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="docs/base.css">
<link rel="stylesheet" href="docs/layout.css">
<link rel="stylesheet" href="docs/operation.css">
<script type="module" src="docs/server/docs/browser/page.js"></script>
</head>
<body data-base-path="${text(basePathOf(document))}">
<a class="skip" href="#operations">Skip to the operations</a>
<div class="columns">
<header>
<div class="brand">
<img src="docs/icon.svg" alt="" width="44" height="44">
<div><h1>${text(info.title)}</h1><p>Version ${text(info.version)}</p></div>
</div>
<p>${text(info.summary)}</p>
<form id="key-form" class="card">
<label for="key">API key</label>
<div class="joined">
<input id="key" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="key-hint">
<button type="button" id="key-show" aria-pressed="false">Show</button>
</div>
<p id="key-hint" class="hint">Stays in this page. It stands in the <code>curl</code> lines only while it is shown.</p>
</form>
<section class="card quota" aria-labelledby="quota-title">
<h2 id="quota-title">Quota</h2>
<p id="quota-of" class="hint">Send a request to see the quota that is left.</p>
<div id="quota"></div>
</section>
<nav aria-label="On this page">
<a href="#listOrders">List</a><a href="#cancelOrder">Cancel</a><a href="#errors">Errors</a><a href="#plans">Plans</a>
<a href="openapi.json">openapi.json</a>
</nav>
</header>
<main id="operations" tabindex="-1">
${operation(document, 'GET', '/store/orders', paths['/store/orders'].get, '')}
${operation(document, 'DELETE', '/store/orders/{orderId}', paths['/store/orders/{orderId}'].delete, ID_FIELD)}
${errors(document)}
${plans()}
</main>
</div>
<dialog id="confirm" aria-labelledby="confirm-title">
<form method="dialog">
<h2 id="confirm-title">Cancel order <code id="confirm-id"></code>?</h2>
<p>This cannot be undone.</p>
<p class="buttons"><button value="keep">Keep it</button><button value="cancel" class="danger">Cancel the order</button></p>
</form>
</dialog>
<p id="announcement" class="unseen" role="status"></p>
<noscript><p class="card">Sending requests needs JavaScript. The document is at <a href="openapi.json">openapi.json</a>.</p></noscript>
</body>
</html>
`;
}

const ID_FIELD = `<label for="order-id">orderId</label>
<input id="order-id" inputmode="numeric" autocomplete="off" spellcheck="false" required>
`;

function operation(
  document: OpenApiDocument,
  method: string,
  path: string,
  { operationId: id, summary, description, responses, deprecated, ...marks }: OpenApiOperation,
  fields: string,
): string {
  const answers = Object.entries(responses).map(
    ([status, { $ref }]) => [status, document.components.responses[$ref.split('/').at(-1) ?? '']] as const,
  );
  return `<section id="${id}" class="card" aria-labelledby="${id}-title">
<h2 id="${id}-title">${text(summary)}</h2>
<p class="line"><span class="method ${method.toLowerCase()}">${method}</span> <code>${text(basePathOf(document) + path)}</code>
<span class="mark">${marks['x-stability']}</span>${deprecated ? ' <span class="mark">deprecated</span>' : ''}</p>
<p>${prose(description)}</p>
<form id="${id}-form" class="send">
${fields}<button class="primary"><span id="${id}-send">Send</span></button>
</form>
<div class="curl">
<pre tabindex="0" aria-label="curl line" id="${id}-curl"></pre>
<button type="button" id="${id}-copy">Copy</button>
</div>
<div id="${id}-answer" class="answer"></div>
<details>
<summary>Every answer: ${answers.map(([status]) => status).join(' ')}</summary>
<dl class="answers">
${answers.map(([status, response]) => `<dt>${status}</dt><dd>${prose(response?.description ?? '')}</dd>`).join('\n')}
</dl>
</details>
</section>`;
}

function basePathOf({ servers }: OpenApiDocument): string {
  return servers[0]?.url.replace(/\/$/, '') ?? '';
}

/** Every error with what it means and what to do, which is what its message says. */
function errors({ components, 'x-responses-elsewhere': elsewhere }: OpenApiDocument): string {
  const rows = [...Object.values(components.responses), ...Object.values(elsewhere)]
    .flatMap(examplesOf)
    .filter(isErrorObject)
    .sort((one, other) => one.status - other.status);
  return `<section id="errors" class="card" aria-labelledby="errors-title">
<h2 id="errors-title">Errors</h2>
<p>Every error is <code>{"code", "message", "status"}</code>; the message says what was wrong and what to do.</p>
<ul class="errors">
${rows
  .map(
    ({ status, code, message }) =>
      `<li id="error-${code}"><b>${status}</b> <code>${code}</code> <p>${text(message)}</p></li>`,
  )
  .join('\n')}
</ul>
</section>`;
}

function plans(): string {
  const rows = Object.values(PLANS).map(
    ({ name, policies }) =>
      `<tr><th scope="row">${name}</th>${policies.map(({ quota }) => `<td>${quota.toLocaleString('en')}</td>`).join('')}</tr>`,
  );
  return `<section id="plans" class="card" aria-labelledby="plans-title">
<h2 id="plans-title">Plans</h2>
<p>A request takes from both windows or from neither. After 429 wait for <code>Retry-After</code>: who goes on can be banned for a time.</p>
<table class="numbers">
<thead><tr><th scope="col">Plan</th><th scope="col">Requests a minute</th><th scope="col">Requests a day</th></tr></thead>
<tbody>
${rows.join('\n')}
<tr><th scope="row">enterprise</th><td>agreed</td><td>agreed</td></tr>
</tbody>
</table>
</section>`;
}

function examplesOf({ content }: OpenApiResponse): unknown[] {
  return Object.values(content?.['application/json'].examples ?? {}).map(({ value }) => value);
}

function isErrorObject(value: unknown): value is { code: string; message: string; status: number } {
  return typeof value === 'object' && value !== null && 'code' in value;
}

function text(plain: string): string {
  return plain.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** The one piece of Markdown that descriptions use. */
function prose(markdown: string): string {
  return text(markdown).replace(/`([^`]+)`/g, '<code>$1</code>');
}
