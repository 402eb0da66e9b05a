import { DEFAULTS, SAMPLE_URL } from '../../check.js';
import { createOpenApiDocument, type OpenApiOptions } from '../../http/openapi/index.js';
import { escapeHtml, markdown, section } from './markup.js';
import {
  methodMark,
  operationsOf,
  renderErrorCodes,
  renderHeaders,
  renderObjects,
  renderOperation,
} from './reference.js';

/**
 * Returns the documentation page, built from the OpenAPI document. Scripts in the browser send the
 * requests, and replace the address in the samples. Links are relative, because a proxy may serve
 * the page below another path.
 */
export function renderPage(options: OpenApiOptions, scripts: readonly string[]): string {
  const document = createOpenApiDocument(options);
  const { basePath = DEFAULTS.basePath, publicUrl = SAMPLE_URL } = options;
  const addresses = { basePath, base: publicUrl + basePath };
  const base = escapeHtml(addresses.base);
  const title = escapeHtml(document.info.title);
  const operations = operationsOf(document);
  const [, ...parts] = document.info.description.split(/^## (.*)\n/m);
  const guide = parts.flatMap((heading, index) => {
    const id = heading.toLowerCase().replaceAll(' ', '-');
    return index % 2 === 0 ? [{ id, heading, html: section(id, heading, markdown(parts[index + 1] ?? '')) }] : [];
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API reference</title>
<link rel="icon" href="docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="docs/base.css">
<link rel="stylesheet" href="docs/layout.css">
<link rel="stylesheet" href="docs/console.css">
${scripts.map((path) => `<link rel="modulepreload" href="docs/${path}">`).join('\n')}
<script type="module" src="docs/server/docs/browser/page.js"></script>
</head>
<body data-base-path="${escapeHtml(addresses.basePath)}">
<a class="skip" href="#main">Skip to the reference</a>
<header>
<div class="brand">
<img src="docs/icon.svg" alt="" width="32" height="32">
<p><b>${title}</b><span class="hint">API reference</span></p>
</div>
<nav aria-label="On this page">
<a href="#try">Try it</a>
${guide.map(({ id, heading }) => `<a href="#${id}">${heading}</a>`).join('\n')}
${operations.map(({ operationId, summary, method }) => `<a href="#${operationId}">${summary} ${methodMark(method)}</a>`).join('\n')}
<a href="#order">Order</a>
<a href="#error">Error</a>
<a href="#headers">Response headers</a>
<a href="#error-codes">Error codes</a>
</nav>
</header>
<main id="main" tabindex="-1">
<section id="introduction" aria-labelledby="introduction-title">
<h1 id="introduction-title">${title} API</h1>
<p class="lead">${escapeHtml(document.info.summary)}</p>
<dl class="facts">
<div><dt class="hint">Base address</dt><dd><code data-fill="base">${base}</code></dd></div>
<div><dt class="hint">Version</dt><dd>${document.info.version}</dd></div>
<div><dt class="hint">Specification</dt><dd><a href="openapi.json">openapi.json</a></dd></div>
</dl>
</section>
<noscript><p class="note">Sending requests needs JavaScript. The OpenAPI document is at <a href="openapi.json">openapi.json</a>.</p></noscript>
${CONSOLE}
${guide.map(({ html }) => html).join('\n')}
${operations.map((operation) => renderOperation(document, operation, addresses)).join('\n')}
${renderObjects(document)}
${renderHeaders(document)}
${renderErrorCodes()}
</main>
<dialog id="confirm" aria-labelledby="confirm-title">
<form method="dialog">
<h2 id="confirm-title">Cancel order <code id="confirm-id"></code>?</h2>
<p>A cancelled order cannot be restored.</p>
<p class="buttons"><button value="keep">Keep the order</button><button value="cancel" class="danger">Cancel the order</button></p>
</form>
</dialog>
<p id="announcement" class="unseen" role="status"></p>
</body>
</html>
`;
}

const CONSOLE = `<section id="try" aria-labelledby="try-title">
<h2 id="try-title">Try it</h2>
<div class="console">
<div class="send">
<form id="key-form" class="joined">
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" autocapitalize="off" spellcheck="false">
<button type="button" id="key-show">Show</button>
</form>
<form id="send">
<button type="button" id="list" class="primary">List all orders</button>
<span class="joined">
<label for="order-id">orderId</label>
<input id="order-id" inputmode="numeric" autocomplete="off" spellcheck="false" required>
<button>Cancel</button>
</span>
</form>
<section aria-label="Quota">
<p id="quota-of" class="hint">Send a request to see the quota of this key.</p>
<div id="quota"></div>
</section>
</div>
<div id="response" class="response">
<p class="hint">The page forgets the key on reload.</p>
<p class="hint">A server that starts with a new database prints demo keys. To create a key: <code>npx store-orders keys create --plan free</code></p>
</div>
</div>
</section>`;
