/**
 * Serves the orders with srvx, on any of its runtimes. The client's address is the request's `ip`,
 * which follows `trustProxy`.
 *
 *     node --import tsx examples/srvx.ts
 */
import { serve } from 'srvx';
import { fetchHandler } from 'store-orders/fetch';
import { port, service } from './orders.ts';

const orders = fetchHandler(service);

const server = serve({
  port,
  hostname: '127.0.0.1',
  silent: true,
  fetch(request) {
    if (service.owns(request.url)) return orders(request);
    return new URL(request.url).pathname === '/' ? new Response('the host\n') : new Response(null, { status: 404 });
  },
});
await server.ready();
console.log('listening on', server.url);
