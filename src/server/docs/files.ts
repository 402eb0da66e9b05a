import { readdirSync, readFileSync } from 'node:fs';
import { digestOf } from '../../http/list/entity-tag.js';
import { createRepresentations, type Representations } from '../../http/list/representations.js';
import { createOpenApiDocument, serializeOpenApiDocument } from '../../http/openapi/document.js';
import { renderPage } from './page.js';

/** A file of the documentation: selects the representation for a request. */
export type DocsFile = Representations;

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
export function readDocsFiles(basePath: string | undefined): ReadonlyMap<string, DocsFile> {
  const document = () => createOpenApiDocument({ basePath });
  const browser = readdirSync(new URL('server/docs/browser/', dist)).map((name) => `server/docs/browser/${name}`);
  // Every module of orders/ that a browser script imports, also indirectly.
  const modules = ['json', 'fields', 'order', 'date-time'].map((name) => `orders/${name}.js`);
  const scripts = [...modules, 'server/docs/highlight.js', ...browser];
  return new Map([
    // The document is serialised at the first request. Serialising it at startup would double the
    // startup time.
    ['/openapi.json', docsFile('application/json', () => serializeOpenApiDocument(document()))],
    ['/docs', docsFile('text/html; charset=utf-8', () => renderPage(document(), scripts))],
    ['/docs/icon.svg', docsFile('image/svg+xml', read('server/docs/assets/icon.svg'))],
    ...['base', 'layout', 'console'].map(
      (name) =>
        [`/docs/${name}.css`, docsFile('text/css; charset=utf-8', read(`server/docs/assets/${name}.css`))] as const,
    ),
    ...scripts.map((path) => [`/docs/${path}`, docsFile('text/javascript; charset=utf-8', read(path))] as const),
  ]);
}

function read(path: string): string {
  return readFileSync(new URL(path, dist), 'utf8');
}

/** Returns a file whose content never changes. A function is called at the first request. */
function docsFile(type: string, content: string | (() => string)): DocsFile {
  let representations: Representations | undefined;
  return (request) => {
    representations ??= represent(type, typeof content === 'string' ? content : content());
    return representations(request);
  };
}

function represent(type: string, content: string): Representations {
  const body = Buffer.from(content);
  return createRepresentations({ body, digest: digestOf(body) }, [
    'Content-Type',
    type,
    // With `no-cache`, clients cache the file but must revalidate it before each use.
    'Cache-Control',
    'no-cache',
    'Content-Security-Policy',
    CONTENT_SECURITY_POLICY,
    'X-Content-Type-Options',
    'nosniff',
    'Referrer-Policy',
    'no-referrer',
    'Cross-Origin-Opener-Policy',
    'same-origin',
  ]);
}
