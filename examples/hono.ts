/**
 * Mounts the service in Hono 4, as a fetch handler for the paths of the service. On Node.js, the
 * client's address comes from Hono's `getConnInfo`.
 *
 *     node --import tsx examples/hono.ts
 */
import { serve } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { type Context, Hono } from 'hono';
import { fetchHandler } from 'store-orders/fetch';
import { port, service } from './orders.ts';

const orders = fetchHandler(service, { clientAddress: (_, c: Context) => getConnInfo(c).remote.address });

const app = new Hono();
app.use(async (c, next) => {
  if (!service.owns(c.req.url)) return next();
  const response = await orders(c.req.raw, c);
  // Copies the response into one that Hono's context creates, because that one also has the header
  // fields set by `c.header`.
  return c.newResponse(response.body, response);
});
app.get('/', (c) => c.text('the host\n'));

serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (address) => console.log('listening on', address));
