import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { fastify } from 'fastify';
import Koa from 'koa';
import { fastifyPlugin } from 'store-orders/fastify';
import type { OrderService } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { listening, type Mount, OF_THE_HOST } from '../../../http/mounts/support/mount.js';
import { overHttp2 } from '../../../http/mounts/support/tls-fetch.js';

export function koaApp(service: OrderService, proxy: boolean, prefix = ''): Koa {
  const app = new Koa({ proxy, maxIpsCount: 1 });
  app.silent = true;
  app.use(async (ctx, next) => {
    ctx.vary('Origin');
    // As koa-mount rewrites it.
    ctx.path = ctx.path.replace(prefix, '');
    await next();
    ctx.set('X-Host', 'yes');
  });
  app.use(koaMiddleware(service));
  app.use((ctx) => {
    if (ctx.path === '/host') ctx.body = OF_THE_HOST;
  });
  return app;
}

/** The part of Fastify that the hooks use, which is the same over HTTP/1 and HTTP/2. */
interface HookedFastify {
  addHook(name: 'onRequest' | 'onSend', hook: (request: unknown, reply: HookedReply) => Promise<void>): unknown;
}

interface HookedReply {
  header(name: string, value: string): unknown;
}

/** Sets one field of the host before and one after the service has responded. */
export function addHooks(app: HookedFastify): void {
  app.addHook('onRequest', async (_request, reply) => void reply.header('Vary', 'Origin'));
  app.addHook('onSend', async (_request, reply) => void reply.header('X-Host', 'yes'));
}

export const frameworkMounts: readonly Mount[] = [
  {
    name: 'Fastify 5',
    packages: ['fastify'],
    trustsProxy: true,
    async open(service, prefix = '') {
      const app = fastify({ trustProxy: '127.0.0.1', forceCloseConnections: true });
      addHooks(app);
      app.get('/host', () => OF_THE_HOST);
      app.post('/host', (request) => request.body);
      app.register(fastifyPlugin(service), { prefix });
      await app.listen({ port: 0, host: '127.0.0.1' });
      return { origin: app.listeningOrigin, close: () => app.close() };
    },
  },
  {
    name: 'Fastify 5 over HTTP/2',
    packages: ['fastify'],
    trustsProxy: true,
    async open(service, prefix = '') {
      const app = fastify({ http2: true, trustProxy: '127.0.0.1' });
      addHooks(app);
      app.get('/host', () => OF_THE_HOST);
      app.post('/host', (request) => request.body);
      app.register(fastifyPlugin(service), { prefix });
      await app.listen({ port: 0, host: '127.0.0.1' });
      return overHttp2({ origin: app.listeningOrigin, close: () => app.close() });
    },
  },
  {
    name: 'Koa 3',
    packages: ['koa'],
    trustsProxy: true,
    open: (service, prefix) => listening(createServer(koaApp(service, true, prefix).callback())),
  },
  {
    name: 'Koa 3 over HTTP/2',
    packages: ['koa'],
    open: async (service) => overHttp2(await listening(createHttp2Server(koaApp(service, false).callback()))),
  },
];
