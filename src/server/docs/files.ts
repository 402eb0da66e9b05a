import { readdirSync, readFileSync } from 'node:fs';
import { digestOf, entityTag } from '../../http/list/entity-tag.js';
import { createOpenApiDocument, printOpenApiDocument } from '../../http/openapi/document.js';
import { printPage } from './page.js';

/** Something that is served as it is. */
export interface DocsFile {
  readonly content: Buffer;
  readonly etag: string;
  readonly headers: readonly string[];
}

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
 * The document, the page and what the page loads, by path. The scripts keep their places relative to each other, below
 * `/docs/`, because they import each other.
 */
export function readDocsFiles(basePath: string | undefined): ReadonlyMap<string, DocsFile> {
  const document = createOpenApiDocument({ basePath });
  const scripts = readdirSync(new URL('server/docs/browser/', dist)).map((name) => `server/docs/browser/${name}`);
  return new Map([
    ['/openapi.json', docsFile('application/json', printOpenApiDocument(document))],
    ['/docs', docsFile('text/html; charset=utf-8', printPage(document))],
    ['/docs/icon.svg', docsFile('image/svg+xml', read('server/docs/assets/icon.svg'))],
    ...['base', 'layout', 'operation'].map(
      (name) =>
        [`/docs/${name}.css`, docsFile('text/css; charset=utf-8', read(`server/docs/assets/${name}.css`))] as const,
    ),
    ...['orders/json.js', ...scripts].map(
      (path) => [`/docs/${path}`, docsFile('text/javascript; charset=utf-8', read(path))] as const,
    ),
  ]);
}

function read(path: string): string {
  return readFileSync(new URL(path, dist), 'utf8');
}

function docsFile(type: string, text: string): DocsFile {
  const content = Buffer.from(text);
  const etag = entityTag(digestOf(content), 'identity');
  return {
    content,
    etag,
    headers: [
      'Content-Type',
      type,
      // It may be kept, and is asked for each time whether it is still the same.
      'Cache-Control',
      'no-cache',
      'ETag',
      etag,
      'Content-Security-Policy',
      CONTENT_SECURITY_POLICY,
      'X-Content-Type-Options',
      'nosniff',
      'Referrer-Policy',
      'no-referrer',
      'Cross-Origin-Opener-Policy',
      'same-origin',
    ],
  };
}
