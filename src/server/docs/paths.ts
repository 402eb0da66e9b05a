import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fixedPath, type OpenPath } from '../../http/index.js';
import type { OpenApiOptions } from '../../http/openapi/index.js';
import { ifBundled } from '../../message-of.js';

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

/**
 * Returns the OpenAPI document, the page and its assets, each under its URL path. The scripts keep
 * their folders below `/docs/`, because they import each other by relative paths.
 */
export function docsPaths(options: OpenApiOptions): Readonly<Record<string, OpenPath>> {
  const { dist, names } = findFiles();
  const asset = (type: string, path: string) => docsPath(type, () => readFile(new URL(path, dist), 'utf8'));
  const browser = names.map((name) => `server/docs/browser/${name}`);
  // Every module of orders/ that a browser script imports, also indirectly.
  const modules = ['exact-json', 'json', 'record', 'fields', 'order', 'date-time'].map((name) => `orders/${name}.js`);
  const scripts = [...modules, 'server/docs/highlight.js', ...browser];
  // The OpenAPI modules are loaded at the first request, because they would slow down the start.
  const openApi = async () => {
    const { createOpenApiDocument } = await import('../../http/openapi/index.js');
    return JSON.stringify(createOpenApiDocument(options), null, 2);
  };
  const page = async () => (await import('./page.js')).renderPage(options, scripts);
  return {
    '/openapi.json': docsPath('application/json', openApi),
    '/docs': docsPath('text/html; charset=utf-8', page),
    '/docs/icon.svg': asset('image/svg+xml', 'server/docs/assets/icon.svg'),
    '/docs/base.css': asset('text/css; charset=utf-8', 'server/docs/assets/base.css'),
    '/docs/layout.css': asset('text/css; charset=utf-8', 'server/docs/assets/layout.css'),
    '/docs/console.css': asset('text/css; charset=utf-8', 'server/docs/assets/console.css'),
    ...Object.fromEntries(
      scripts.map((path) => [`/docs/${path}`, asset('text/javascript; charset=utf-8', path)] as const),
    ),
  };
}

/** Finds the folder of the built package, and the names of the scripts of the page. */
function findFiles(): { readonly dist: URL; readonly names: readonly string[] } {
  try {
    // Not in one expression, which bundlers would take for a file.
    const { url } = import.meta;
    const dist = new URL('../../', url);
    return { dist, names: readdirSync(new URL('server/docs/browser/', dist)) };
  } catch (error) {
    throw new Error(`the files of the documentation page are missing${ifBundled}`, { cause: error });
  }
}

function docsPath(type: string, content: () => Promise<string>): OpenPath {
  return fixedPath(type, content, [
    ...['Content-Security-Policy', CONTENT_SECURITY_POLICY],
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Referrer-Policy', 'no-referrer'],
    ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ]);
}
