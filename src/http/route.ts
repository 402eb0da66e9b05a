/** What a request target names: the list, one order (by the text of its id), or something foreign. */
export type Route =
  | { readonly resource: 'orders' }
  | { readonly resource: 'order'; readonly idText: string }
  | { readonly resource: 'foreign' }
  | { readonly resource: 'too_long' };

const ORDERS: Route = { resource: 'orders' };
export const FOREIGN: Route = { resource: 'foreign' };
const TOO_LONG: Route = { resource: 'too_long' };

/** In characters; every path of this service has fewer than a hundred after the base path. */
const MAX_TARGET_LENGTH = 8_192;

/** Checks a base path. Throws a TypeError naming the option. */
export function checkBasePath(basePath: string): void {
  if (typeof basePath !== 'string' || !/^(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~!$&'()*+,;=:@-]+)*$/.test(basePath)) {
    throw new TypeError(
      'basePath: expected "" or a path such as "/v1", with a slash before each segment and none after the last',
    );
  }
}

/**
 * Reads request targets below `basePath` (specification, part 4). The query is ignored (4.1: "Parameters: none");
 * nothing is percent-decoded, so that exactly one text names each order.
 */
export function createRouter(basePath: string): (target: string) => Route {
  const collection = `${basePath}/store/orders`;
  const member = `${collection}/`;
  return (target) => {
    if (target === collection) return ORDERS;
    const path = pathOf(target);
    if (path === collection) return target.length > MAX_TARGET_LENGTH ? TOO_LONG : ORDERS;
    if (!path.startsWith(member) || path.length === member.length) return FOREIGN;
    if (path.includes('/', member.length)) return FOREIGN;
    return target.length > MAX_TARGET_LENGTH ? TOO_LONG : { resource: 'order', idText: path.slice(member.length) };
  };
}

/** The path of a target in origin form or absolute form (RFC 9112 §3.2.1, §3.2.2). */
function pathOf(target: string): string {
  let start = 0;
  if (!target.startsWith('/')) {
    const authority = /^https?:\/\/[^/?#]+/i.exec(target);
    if (authority === null) return target;
    start = authority[0].length;
  }
  const query = target.indexOf('?', start);
  return start === 0 && query === -1 ? target : target.slice(start, query === -1 ? undefined : query);
}
