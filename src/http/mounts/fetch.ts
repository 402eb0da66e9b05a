import { checkMethods, checkOptions } from '../options.js';
import type { OrderService } from '../service.js';
import { headOf, ipOf, toResponse } from './fetch-conversion.js';

export interface FetchMountOptions<Context extends unknown[]> {
  /**
   * The client's address, by which requests without a valid key are limited, from the request and
   * whatever else the runtime hands over. Default: `request.ip`, which srvx and h3 have; where
   * there is none, all such requests share one limit.
   */
  readonly clientAddress?: ((request: Request, ...context: Context) => string | undefined) | undefined;
}

/** Mounts the service wherever a handler is a function from Request to Response. */
export function fetchHandler<Context extends unknown[] = unknown[]>(
  service: OrderService,
  options: FetchMountOptions<Context> = {},
): (request: Request, ...context: Context) => Promise<Response> {
  checkMethods('service', service, ['respond']);
  checkOptions(options, ['clientAddress']);
  const { clientAddress = ipOf } = options;
  return async (request, ...context) => {
    return toResponse(await service.respond(headOf(request), () => clientAddress(request, ...context)));
  };
}
