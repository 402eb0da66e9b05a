import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { H3, serve as serveH3 } from 'h3';
import { Hono } from 'hono';
import { serve } from 'srvx';
import { fetchHandler } from 'store-orders/fetch';
import { listening, type Mount } from './mount.js';

export const fetchMounts: readonly Mount[] = [
  {
    name: 'h3 2',
    hooks: ['x-host', 'x-host-after'],
    trustsProxy: true,
    async open(service) {
      const orders = fetchHandler(service);
      const app = new H3({
        onResponse: ({ headers }) => {
          headers.set('X-Host-After', 'after');
          headers.append('Vary', 'Origin');
        },
      });
      app.use((event) => {
        event.res.headers.set('X-Host', 'before');
        event.res.errHeaders.set('X-Host', 'before');
      });
      app.use((event, next) => (service.owns(event.req.url) ? orders(event.req) : next()));
      app.get('/host', () => 'of the host');
      const server = serveH3(app, { port: 0, hostname: '127.0.0.1', silent: true, trustProxy: true });
      await server.ready();
      return { origin: originOf(server.url), close: () => server.close(true) };
    },
  },
  {
    name: 'srvx 1',
    hooks: ['x-host'],
    trustsProxy: true,
    async open(service) {
      const orders = fetchHandler(service);
      const server = serve({
        port: 0,
        hostname: '127.0.0.1',
        silent: true,
        trustProxy: true,
        async fetch(request) {
          if (service.owns(request.url)) {
            const response = await orders(request);
            response.headers.set('X-Host', 'after');
            response.headers.append('Vary', 'Origin');
            return response;
          }
          const isHost = new URL(request.url).pathname === '/host';
          return new Response('of the host', { status: isHost ? 200 : 404, headers: { 'X-Host': 'after' } });
        },
      });
      await server.ready();
      return { origin: originOf(server.url), close: () => server.close(true) };
    },
  },
  // This entry is last, because Hono replaces the global `Request` and `Response` with its own
  // classes. Hosts after it would use these classes.
  {
    name: 'Hono 4',
    hooks: ['x-host', 'x-host-after'],
    open(service) {
      const orders = fetchHandler(service);
      const app = new Hono();
      app.use(async (c, next) => {
        c.header('X-Host', 'before');
        await next();
        c.header('X-Host-After', 'after');
        c.header('Vary', 'Origin', { append: true });
      });
      app.use(async (c, next) => {
        if (!service.owns(c.req.url)) return next();
        const response = await orders(c.req.raw);
        return c.newResponse(response.body, response);
      });
      app.get('/host', (c) => c.text('of the host'));
      return listening(createServer(getRequestListener(app.fetch)));
    },
  },
];

function originOf(url: string | undefined): string {
  return new URL(url ?? '').origin;
}
