import { isHost } from './request-head.js';

/**
 * The resource that a request target names: the list of orders, or one order, whose id is still
 * text. If the target names neither, or is invalid, `resource` is the reason.
 */
export type Route =
  | { readonly resource: 'orders' }
  | { readonly resource: 'order'; readonly idText: string }
  | { readonly resource: 'not_ours' | 'too_long' | 'malformed' };

const ORDERS: Route = { resource: 'orders' };
export const NOT_OURS: Route = { resource: 'not_ours' };
const TOO_LONG: Route = { resource: 'too_long' };
const MALFORMED: Route = { resource: 'malformed' };

/**
 * The longest accepted request target, in characters, including the query. Valid paths of this
 * service have fewer than a hundred characters after the base path.
 */
const MAX_TARGET_LENGTH = 8_192;

/** Throws a TypeError that names the option, unless the base path is valid. */
export function checkBasePath(basePath: string): void {
  if (typeof basePath !== 'string' || !/^(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~!$&'()*+,;=:@-]+)*$/.test(basePath)) {
    throw new TypeError(
      'basePath: expected "" or a path such as "/v1", with a slash before each segment and none after the last',
    );
  }
}

/**
 * Creates a router for request targets below `basePath` (specification, part 4). The query is
 * ignored (4.1: "Parameters: none"). Nothing is percent-decoded, so that each order has exactly one
 * path.
 */
export function createRouter(basePath: string): (target: string) => Route {
  const collection = `${basePath}/store/orders`;
  const member = `${collection}/`;
  return (target) => {
    if (target === collection) return ORDERS;
    const origin = target.startsWith('/') ? null : ABSOLUTE.exec(target);
    const path = pathOf(target, origin === null ? 0 : origin[0].length);
    if (path !== collection) {
      if (!path.startsWith(member) || path.length === member.length) return NOT_OURS;
      if (path.includes('/', member.length)) return NOT_OURS;
    }
    if (target.length > MAX_TARGET_LENGTH) return TOO_LONG;
    if (origin !== null && !isHost(origin[1] ?? '')) return MALFORMED;
    return path === collection ? ORDERS : { resource: 'order', idText: path.slice(member.length) };
  };
}

/** Matches the start of a target in absolute form, with its authority (RFC 9112 §3.2.2). */
const ABSOLUTE = /^https?:\/\/([^/?#]+)/i;

function pathOf(target: string, start: number): string {
  const query = target.indexOf('?', start);
  return start === 0 && query === -1 ? target : target.slice(start, query === -1 ? undefined : query);
}
