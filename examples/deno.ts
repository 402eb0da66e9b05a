/**
 * Runs the service in Deno, which serves a default export that has a `fetch` function.
 *
 *     deno serve --allow-env --host 127.0.0.1 --port 3000 examples/deno.ts
 */
import { fetchHandler } from 'store-orders/fetch';
import { service } from './orders.ts';

interface ServeInfo {
  readonly remoteAddr: { readonly hostname: string };
}

const orders = fetchHandler(service, { clientAddress: (_, info: ServeInfo) => info.remoteAddr.hostname });

export default {
  fetch(request: Request, info: ServeInfo) {
    if (service.owns(request.url)) return orders(request, info);
    return new URL(request.url).pathname === '/' ? new Response('the host\n') : new Response(null, { status: 404 });
  },
};
