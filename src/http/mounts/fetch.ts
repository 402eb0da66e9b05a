import { checkFields, checkFunction, checkOneOf } from '../../check.js';
import { checkService, type OrderService } from '../service/service.js';
import { headOf, ipOf, toResponse } from './fetch-conversion.js';

export interface FetchMountOptions<Context extends unknown[]> {
  /**
   * Returns the client's address, by which requests without a valid key are limited. Receives the
   * request and the further arguments of the handler. Default: `request.ip`, which srvx and h3 set.
   * Requests without an address share one limit.
   */
  readonly clientAddress?: ((request: Request, ...context: Context) => string | undefined) | undefined;
  /**
   * Whether lists are compressed for clients that accept it. Pass `false` if the host compresses
   * responses itself, as Next.js does: it would compress a compressed list again. Default: true.
   */
  readonly compressLists?: boolean | undefined;
}

/**
 * Creates a handler that takes a Request and returns a Response. It mounts the service in Hono, h3,
 * Bun, Deno and other hosts. All readers share the chunks of a long list, so copy them before you
 * enqueue them in a stream with `type: 'bytes'`, which takes their memory away.
 * @example
 * ```ts
 * import { fetchHandler } from 'store-orders/fetch';
 * import { createTestService } from 'store-orders/testing';
 *
 * const { service } = createTestService(); // in production: createOrderService
 * export default { fetch: fetchHandler(service) };
 * ```
 */
export function fetchHandler<Context extends unknown[] = unknown[]>(
  service: OrderService,
  options: FetchMountOptions<Context> = {},
): (request: Request, ...context: Context) => Promise<Response> {
  checkService(service, ['respond']);
  checkFields('options', options, ['clientAddress', 'compressLists']);
  const { clientAddress = ipOf, compressLists = true } = options;
  checkFunction('clientAddress', clientAddress);
  checkOneOf('compressLists', compressLists, [true, false]);
  const ignoredField = compressLists ? undefined : 'accept-encoding';
  return async (request, ...context) => {
    return toResponse(await service.respond(headOf(request, ignoredField), () => clientAddress(request, ...context)));
  };
}
