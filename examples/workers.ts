/**
 * Runs the service in Cloudflare Workers, with the flag `nodejs_compat`. Workers serve a default
 * export that has a `fetch` function. A limiter in memory counts only the requests of one isolate.
 *
 *     npx wrangler dev examples/workers.ts --compatibility-flags nodejs_compat
 */
import { fetchHandler } from 'store-orders/fetch';
import { service } from './orders.ts';

const orders = fetchHandler(service, {
  clientAddress: (request) => request.headers.get('cf-connecting-ip') ?? undefined,
});

export default {
  fetch(request: Request) {
    if (service.owns(request.url)) return orders(request);
    return new URL(request.url).pathname === '/' ? new Response('the host\n') : new Response(null, { status: 404 });
  },
};
