import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { H3, serve as serveH3 } from 'h3';
import { Hono } from 'hono';
import { serve } from 'srvx';
import { fetchHandler } from 'store-orders/fetch';
import { fetchHost } from './fetch-host.js';
import { listening, type Mount, OF_THE_HOST } from './mount.js';

/** Options of srvx, and so of h3. */
const SERVER = { port: 0, hostname: '127.0.0.1', silent: true, trustProxy: true };

export const fetchMounts: readonly Mount[] = [
  {
    name: 'h3 2',
    trustsProxy: true,
    async open(service) {
      const orders = fetchHandler(service);
      const app = new H3({
        onResponse: ({ headers }) => {
          headers.set('X-Host', 'yes');
          headers.append('Vary', 'Origin');
        },
      });
      app.use((event, next) => (service.owns(event.req.url) ? orders(event.req) : next()));
      app.get('/host', () => OF_THE_HOST);
      return started(serveH3(app, SERVER));
    },
  },
  {
    name: 'srvx 1',
    trustsProxy: true,
    open: (service) => started(serve({ ...SERVER, fetch: fetchHost(service, fetchHandler(service)) })),
  },
  // This entry is last, because Hono replaces the global `Request` and `Response` with its own
  // classes. Hosts after it would use these classes.
  {
    name: 'Hono 4',
    open(service) {
      const orders = fetchHandler(service);
      const app = new Hono();
      app.use(async (c, next) => {
        await next();
        c.header('X-Host', 'yes');
        c.header('Vary', 'Origin', { append: true });
      });
      app.use(async (c, next) => {
        if (!service.owns(c.req.url)) return next();
        const response = await orders(c.req.raw);
        return c.newResponse(response.body, response);
      });
      app.get('/host', (c) => c.text(OF_THE_HOST));
      return listening(createServer(getRequestListener(app.fetch)));
    },
  },
];

async function started(server: ReturnType<typeof serve>) {
  await server.ready();
  return { origin: new URL(server.url ?? '').origin, close: () => server.close(true) };
}
