import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { digestOf } from '../../http/list/body.js';
import { createRepresentationSelector, type SelectRepresentation } from '../../http/list/representations.js';
import type { OpenApiOptions } from '../../http/openapi/document.js';

/** A file of the documentation, as a function from a request to an outcome. */
export type DocsFile = SelectRepresentation;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const dist = new URL('../../', import.meta.url);

/**
 * Returns the OpenAPI document, the page and its assets, each under its URL path. The scripts keep
 * their folders below `/docs/`, because they import each other by relative paths.
 */
export function readDocsFiles(options: OpenApiOptions): ReadonlyMap<string, DocsFile> {
  const browser = readdirSync(new URL('server/docs/browser/', dist)).map((name) => `server/docs/browser/${name}`);
  // Every module of orders/ that a browser script imports, also indirectly.
  const modules = ['json', 'fields', 'order', 'date-time'].map((name) => `orders/${name}.js`);
  const scripts = [...modules, 'server/docs/highlight.js', ...browser];
  // The OpenAPI modules are loaded at the first request, because they would slow down the start.
  const openApi = async () => {
    const { createOpenApiDocument } = await import('../../http/openapi/document.js');
    return JSON.stringify(createOpenApiDocument(options), null, 2);
  };
  const page = async () => (await import('./page.js')).renderPage(options, scripts);
  return new Map([
    ['/openapi.json', docsFile('application/json', openApi)],
    ['/docs', docsFile('text/html; charset=utf-8', page)],
    ['/docs/icon.svg', asset('image/svg+xml', 'server/docs/assets/icon.svg')],
    ['/docs/base.css', asset('text/css; charset=utf-8', 'server/docs/assets/base.css')],
    ['/docs/layout.css', asset('text/css; charset=utf-8', 'server/docs/assets/layout.css')],
    ['/docs/console.css', asset('text/css; charset=utf-8', 'server/docs/assets/console.css')],
    ...scripts.map((path) => [`/docs/${path}`, asset('text/javascript; charset=utf-8', path)] as const),
  ]);
}

function asset(type: string, path: string): DocsFile {
  return docsFile(type, () => readFile(new URL(path, dist), 'utf8'));
}

/** Returns a file whose content is created once, for all concurrent first requests. */
function docsFile(type: string, content: () => Promise<string>): DocsFile {
  let select: Promise<SelectRepresentation> | undefined;
  return async (request) => {
    select ??= content()
      .then((text) => createFileSelector(type, text))
      .catch((error) => {
        // The next request tries again.
        select = undefined;
        throw error;
      });
    return (await select)(request);
  };
}

function createFileSelector(type: string, content: string): SelectRepresentation {
  const body = Buffer.from(content);
  const contentFields = [
    'Content-Type',
    type,
    'Content-Security-Policy',
    CONTENT_SECURITY_POLICY,
    'X-Content-Type-Options',
    'nosniff',
    'Referrer-Policy',
    'no-referrer',
    'Cross-Origin-Opener-Policy',
    'same-origin',
  ];
  // With `no-cache`, clients cache the file but must revalidate it before each use.
  return createRepresentationSelector({ body, digest: digestOf(body) }, contentFields, ['Cache-Control', 'no-cache']);
}
