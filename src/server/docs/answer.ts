import type { IncomingMessage, ServerResponse } from 'node:http';
import { namesTag } from '../../http/list/entity-tag.js';
import { readDocsFiles } from './files.js';

/**
 * Makes what answers `/openapi.json` and `/docs`, without a key and outside the base path. It answers `false` to any other
 * path, which is not its own.
 */
export function createDocs(
  basePath: string | undefined,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const files = readDocsFiles(basePath);
  return (request, response) => {
    const { method, url = '' } = request;
    const query = url.indexOf('?');
    const file = files.get(query === -1 ? url : url.slice(0, query));
    if (file === undefined) return false;
    if (method !== 'GET' && method !== 'HEAD') {
      response.writeHead(405, ['Allow', 'GET, HEAD', 'Content-Length', '0', 'Cache-Control', 'no-store']).end();
    } else if (namesTag(request.headers['if-none-match'] ?? '', file.etag, 'weak')) {
      response.writeHead(304, [...file.headers]).end();
    } else {
      response.writeHead(200, [...file.headers, 'Content-Length', `${file.content.length}`]);
      // Node itself leaves the body out when the method is HEAD.
      response.end(file.content);
    }
    return true;
  };
}
