import { type OrderId, parseOrderId } from '../orders/index.js';
import { type OperationName, operationsAt } from './operations.js';
import { errorOutcome, type Outcome } from './reply.js';
import { ABSOLUTE, type ReadRequest } from './request.js';

/** What a request asks for: an operation, or the refusal if it asks for none. */
export type Asked =
  | { readonly operation: OperationName; readonly orderId: OrderId | undefined; readonly refusal?: undefined }
  | { readonly operation?: undefined; readonly orderId?: undefined; readonly refusal: Outcome };

/** The operations at a target by method, and the text of the order id. */
interface Route {
  readonly operations: ReadonlyMap<string, OperationName>;
  readonly idText: string;
}

const ORDERS_ROUTE: Route = { operations: operationsAt('/store/orders'), idText: '' };
const ORDER_OPERATIONS = operationsAt('/store/orders/{orderId}');

/** The longest accepted request target in characters, with its query. Valid paths are far shorter. */
const MAX_TARGET_LENGTH = 8_192;

/**
 * The standard methods (RFC 9110 §9.3 and RFC 5789). A path that does not support one of them
 * responds with 405. Any other method gets 501.
 */
const STANDARD_METHODS = 'GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' ');

/**
 * Creates a router for request targets below `basePath`. The query is ignored, because no
 * operation has query parameters (specification, part 4). Nothing is percent-decoded, so that each
 * order has exactly one path.
 */
export function createRouter(basePath: string) {
  const collection = `${basePath}/store/orders`;
  const memberPrefix = `${collection}/`;

  function routeOf(target: string): Route | 'route_not_found' | 'uri_too_long' {
    const path = pathOf(target);
    const isMember =
      path.startsWith(memberPrefix) && path.length > memberPrefix.length && !path.includes('/', memberPrefix.length);
    if (path !== collection && !isMember) return 'route_not_found';
    if (target.length > MAX_TARGET_LENGTH) return 'uri_too_long';
    return isMember ? { operations: ORDER_OPERATIONS, idText: path.slice(memberPrefix.length) } : ORDERS_ROUTE;
  }

  return {
    owns: (target: string): boolean => routeOf(target) !== 'route_not_found',

    /**
     * Returns what a request asks for (specification, part 4). `orderId` is `undefined` if the
     * target has none, or an invalid one.
     */
    ask({ method = '', target = '' }: ReadRequest): Asked {
      const route = routeOf(target);
      if (typeof route === 'string') return { refusal: errorOutcome(route) };
      const { operations, idText } = route;
      const operation = operations.get(method);
      if (operation !== undefined) return { operation, orderId: parseOrderId(idText) };
      if (!STANDARD_METHODS.includes(method)) return { refusal: errorOutcome('method_not_implemented') };
      return { refusal: errorOutcome('method_not_allowed', 'Allow', [...operations.keys()].join(', ')) };
    },
  };
}

/** Returns the path of a request target, or an empty text if it has none. */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : (ABSOLUTE.exec(target)?.[2] ?? '');
  const query = path.indexOf('?');
  return query === -1 ? path : path.slice(0, query);
}
