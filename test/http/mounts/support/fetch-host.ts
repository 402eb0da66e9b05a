import type { OrderService } from 'store-orders/handler';
import { OF_THE_HOST } from './mount.js';

/** A host without a framework that takes a Request, and passes its further arguments to `orders`. */
export function fetchHost<Context extends unknown[]>(
  service: OrderService,
  orders: (request: Request, ...context: Context) => Promise<Response>,
) {
  return async (request: Request, ...context: Context): Promise<Response> => {
    const status = new URL(request.url).pathname === '/host' ? 200 : 404;
    const isOwned = service.owns(request.url);
    const response = isOwned ? await orders(request, ...context) : new Response(OF_THE_HOST, { status });
    response.headers.set('X-Host', 'yes');
    response.headers.append('Vary', 'Origin');
    return response;
  };
}
