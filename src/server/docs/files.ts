import { readdirSync, readFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type Coding, preferredCoding } from '../../http/list/accept-encoding.js';
import { digestOf, entityTag, namesTag } from '../../http/list/entity-tag.js';
import type { ListRequest } from '../../http/list/representations.js';
import { createOpenApiDocument, printOpenApiDocument } from '../../http/openapi/document.js';
import type { Outcome } from '../../http/reply.js';
import { renderPage } from './page.js';

/**
 * A file of the documentation. Its content never changes. Each content coding, such as gzip, has a
 * representation of its own.
 */
export interface DocsFile {
  represent(coding: Coding): Representation;
}

interface Representation {
  readonly content: Buffer;
  readonly etag: string;
  readonly headers: readonly string[];
}

const COMPRESSORS: Readonly<Record<Coding, (content: Buffer) => Buffer>> = {
  identity: (content) => content,
  gzip: (content) => gzipSync(content),
  br: (content) => brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
};

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
  const modules = ['json', 'fields', 'order', 'date-time'].map((name) => `orders/${name}.js`);
  const scripts = [...modules, 'server/docs/highlight.js', ...browser];
  return new Map([
    // The document is serialised at the first request. Serialising it at startup would double the
    // startup time.
    ['/openapi.json', docsFile('application/json', () => printOpenApiDocument(document()))],
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

/** Returns the reply to a GET or HEAD, without the header fields of the rate limit. */
export function docsReply(file: DocsFile, request: ListRequest): Outcome {
  const { acceptEncoding, ifNoneMatch = '' } = request;
  const { content, etag, headers } = file.represent(preferredCoding(acceptEncoding, false));
  if (namesTag(ifNoneMatch, etag, 'weak')) {
    return { status: 304, fields: headers, body: undefined };
  }
  return { status: 200, fields: [...headers, 'Content-Length', `${content.length}`], body: content };
}

function docsFile(type: string, print: string | (() => string)): DocsFile {
  let plain: Buffer | undefined;
  let digest: ReturnType<typeof digestOf> | undefined;
  const representations = new Map<Coding, Representation>();

  function make(coding: Coding): Representation {
    plain ??= Buffer.from(typeof print === 'string' ? print : print());
    digest ??= digestOf(plain);
    const etag = entityTag(digest, coding);
    const headers = [
      'Content-Type',
      type,
      // With `no-cache`, clients cache the file but must revalidate it before each use.
      'Cache-Control',
      'no-cache',
      'Vary',
      'Accept-Encoding',
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
    ];
    if (coding !== 'identity') headers.push('Content-Encoding', coding);
    const made = { content: COMPRESSORS[coding](plain), etag, headers };
    representations.set(coding, made);
    return made;
  }

  return { represent: (coding) => representations.get(coding) ?? make(coding) };
}
