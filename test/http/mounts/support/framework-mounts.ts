import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { fastify } from 'fastify';
import Koa from 'koa';
import { fastifyPlugin } from 'store-orders/fastify';
import type { OrderService } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { listening, type Mount } from './mount.js';
import { overHttp2 } from './tls-fetch.js';

const BEFORE = { 'X-Host': 'before', Vary: 'Origin' };

export function koaApp(service: OrderService, proxy: boolean): Koa {
  const app = new Koa({ proxy, maxIpsCount: 1 });
  app.silent = true;
  app.use(async (ctx, next) => {
    ctx.set('X-Host', 'before');
    ctx.vary('Origin');
    await next();
    ctx.set('X-Host-After', 'after');
  });
  app.use(koaMiddleware(service));
  app.use((ctx) => {
    if (ctx.path === '/host') ctx.body = 'of the host';
  });
  return app;
}

export const frameworkMounts: readonly Mount[] = [
  {
    name: 'Fastify 5',
    hooks: ['x-host', 'x-host-after'],
    trustsProxy: true,
    async open(service, prefix = '') {
      const app = fastify({ trustProxy: '127.0.0.1', forceCloseConnections: true });
      app.addHook('onRequest', async (_request, reply) => void reply.headers(BEFORE));
      app.addHook('onSend', async (_request, reply) => void reply.header('X-Host-After', 'after'));
      app.get('/host', () => 'of the host');
      app.post('/host', (request) => request.body);
      app.register(fastifyPlugin(service), { prefix });
      await app.listen({ port: 0, host: '127.0.0.1' });
      return { origin: app.listeningOrigin, close: () => app.close() };
    },
  },
  {
    name: 'Koa 3',
    hooks: ['x-host', 'x-host-after'],
    trustsProxy: true,
    open: (service) => listening(createServer(koaApp(service, true).callback())),
  },
  {
    name: 'Fastify 5 over HTTP/2',
    hooks: ['x-host'],
    trustsProxy: true,
    async open(service, prefix = '') {
      const app = fastify({ http2: true, trustProxy: '127.0.0.1' });
      app.addHook('onRequest', async (_request, reply) => void reply.headers(BEFORE));
      app.get('/host', () => 'of the host');
      app.post('/host', (request) => request.body);
      app.register(fastifyPlugin(service), { prefix });
      await app.listen({ port: 0, host: '127.0.0.1' });
      return overHttp2({ origin: app.listeningOrigin, close: () => app.close() });
    },
  },
  {
    name: 'Koa 3 over HTTP/2',
    hooks: ['x-host'],
    open: async (service) => overHttp2(await listening(createHttp2Server(koaApp(service, false).callback()))),
  },
];
