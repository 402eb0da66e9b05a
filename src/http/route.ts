import { type OrderId, parseOrderId } from '../orders/index.js';
import { type OperationName, type Resource, resourceAt } from './operations.js';
import { type Outcome, refusal } from './reply.js';
import { isHost, type ReadRequest } from './request.js';

/** What a request asks for: an operation, or the refusal if it asks for none. */
export type Asked =
  | { readonly operation: OperationName; readonly orderId: OrderId | undefined; readonly refusal?: undefined }
  | { readonly operation?: undefined; readonly orderId?: undefined; readonly refusal: Outcome };

/** The resource that a target names, and the text of the order id. */
interface Route {
  readonly resource: Resource;
  readonly idText: string;
}

type RouteRefusal = 'route_not_found' | 'uri_too_long' | 'bad_request';

const ORDERS: Route = { resource: resourceAt('/store/orders'), idText: '' };
const ORDER = resourceAt('/store/orders/{orderId}');

/** The longest accepted request target in characters, with its query. Valid paths are far shorter. */
const MAX_TARGET_LENGTH = 8_192;

/**
 * The standard methods (RFC 9110 §9.3 and RFC 5789). A path that does not support one of them
 * responds with 405. Any other method gets 501.
 */
const STANDARD_METHODS = 'GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' ');

/** Throws a TypeError that names the option, unless the base path is valid. */
export function checkBasePath(basePath: string): void {
  if (typeof basePath !== 'string' || !/^(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~!$&'()*+,;=:@-]+)*$/.test(basePath)) {
    throw new TypeError(
      'basePath: expected "" or a path such as "/v1", with a slash before each segment and none after the last',
    );
  }
}

/**
 * Creates a router for request targets below `basePath`. The query is ignored (4.1: "Parameters:
 * none"). Nothing is percent-decoded, so that each order has exactly one path.
 */
export function createRouter(basePath: string) {
  const collection = `${basePath}/store/orders`;
  const member = `${collection}/`;

  function routeOf(target: string): Route | RouteRefusal {
    if (target === collection) return ORDERS;
    const authority = target.startsWith('/') ? undefined : ABSOLUTE.exec(target)?.[1];
    const path = authority === undefined ? withoutQuery(target) : pathOf(target);
    if (path !== collection) {
      if (!path.startsWith(member) || path.length === member.length) return 'route_not_found';
      if (path.includes('/', member.length)) return 'route_not_found';
    }
    if (target.length > MAX_TARGET_LENGTH) return 'uri_too_long';
    if (authority !== undefined && !isHost(authority)) return 'bad_request';
    return path === collection ? ORDERS : { resource: ORDER, idText: path.slice(member.length) };
  }

  return {
    owns: (target: string): boolean => routeOf(target) !== 'route_not_found',

    /**
     * Returns what a request asks for (specification, part 4). `orderId` is `undefined` if the
     * target has none, or an invalid one.
     */
    ask({ method = '', target = '' }: ReadRequest): Asked {
      const route = routeOf(target);
      if (typeof route === 'string') return { refusal: refusal(route) };
      const { resource, idText } = route;
      const operation = resource.operations.get(method);
      if (operation !== undefined) return { operation, orderId: parseOrderId(idText) };
      if (!STANDARD_METHODS.includes(method)) return { refusal: refusal('method_not_implemented') };
      return { refusal: refusal('method_not_allowed', 'Allow', resource.allow) };
    },
  };
}

/** Matches the start of a target in absolute form, with its authority (RFC 9112 §3.2.2). */
const ABSOLUTE = /^https?:\/\/([^/?#]+)/i;

/** Returns the path of a request target without the query. The target can be in absolute form. */
export function pathOf(target: string): string {
  const path = withoutQuery(target);
  const authority = path.startsWith('/') ? -1 : path.indexOf('://');
  if (authority === -1) return path;
  const start = path.indexOf('/', authority + '://'.length);
  return start === -1 ? '/' : path.slice(start);
}

function withoutQuery(target: string): string {
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}
