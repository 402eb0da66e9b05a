import type { FrontDoor, OpenPath } from '../http/front-door.js';
import type { OrderService } from '../http/index.js';
import { pathOf } from '../http/route.js';
import type { DocsFile } from './docs/files.js';

const ALLOW = 'GET, HEAD';

/** Redirections to the documentation page, and an empty icon, which browsers cache for a week. */
const FIXED: readonly (readonly [path: string, OpenPath])[] = [
  ['/', redirectTo('docs')],
  ['/docs/', redirectTo('../docs')],
  ['/favicon.ico', fixedReply(204, ['Cache-Control', 'public, max-age=604800'])],
];

/** Redirects to a relative path, which also works behind a proxy that adds a prefix to the path. */
function redirectTo(location: string): OpenPath {
  return fixedReply(302, ['Location', location, 'Content-Length', '0']);
}

function fixedReply(status: number, fields: readonly string[]): OpenPath {
  return { allow: ALLOW, perform: () => ({ status, fields, body: undefined }) };
}

/**
 * Wraps the service with the server's own paths, which need no key: probes and the documentation.
 * Both are charged to the client's address. If the address is over its limit, the documentation is
 * refused. A probe still gets its response, and its connection is closed.
 */
export function withOwnPaths(
  service: OrderService,
  door: FrontDoor,
  probes: Iterable<readonly [path: string, OpenPath]>,
  docs: ReadonlyMap<string, DocsFile>,
): OrderService {
  const documents = Array.from(docs, ([path, perform]) => [path, { allow: ALLOW, perform }] as const);
  const paths = new Map<string, OpenPath>([...FIXED, ...documents, ...probes]);
  return {
    ...service,
    respond(head, clientAddress) {
      const path = paths.get(pathOf(head.url ?? ''));
      return path === undefined ? service.respond(head, clientAddress) : door.serve(head, clientAddress, path);
    },
  };
}
