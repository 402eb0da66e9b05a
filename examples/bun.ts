/**
 * Runs the service in Bun, which serves a default export that has a `fetch` function.
 *
 *     bun examples/bun.ts
 */
import { fetchHandler } from 'store-orders/fetch';
import { port, service } from './orders.ts';

interface BunServer {
  requestIP(request: Request): { readonly address: string } | null;
}

const orders = fetchHandler(service, {
  clientAddress: (request, server: BunServer) => server.requestIP(request)?.address,
});

export default {
  port,
  fetch(request: Request, server: BunServer) {
    if (service.owns(request.url)) return orders(request, server);
    return new URL(request.url).pathname === '/' ? new Response('the host\n') : new Response(null, { status: 404 });
  },
};
