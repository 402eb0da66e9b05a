import 'reflect-metadata';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { server as createHapi } from '@hapi/hapi';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { fastify } from 'fastify';
import Koa from 'koa';
import { send, serve } from 'micro';
import { fastifyPlugin } from 'store-orders/fastify';
import { nodeHandler, type OrderService } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { listening, type Mount } from './mount.js';
import { overHttp2 } from './tls-fetch.js';

const BEFORE = { 'X-Host': 'before', Vary: 'Origin' };

class HostController {
  host(): string {
    return 'of the host';
  }
}
class HostModule {}

// What the decorators @Controller(), @Get('host') and @Module({ … }) do.
Controller()(HostController);
Get('host')(HostController.prototype, 'host', { value: HostController.prototype.host });
Module({ controllers: [HostController] })(HostModule);

function koa(service: OrderService, proxy: boolean): Koa {
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
    open: (service) => listening(createServer(koa(service, true).callback())),
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
    open: async (service) => overHttp2(await listening(createHttp2Server(koa(service, false).callback()))),
  },
  {
    name: 'hapi 21',
    hooks: ['x-host'],
    async open(service) {
      const app = createHapi({ port: 0, host: '127.0.0.1' });
      const handle = nodeHandler(service);
      app.ext('onRequest', ({ raw: { req, res } }, h) => {
        for (const [name, value] of Object.entries(BEFORE)) res.setHeader(name, value);
        if (!service.owns(req.url ?? '')) return h.continue;
        handle(req, res);
        return h.abandon;
      });
      app.route({ method: 'GET', path: '/host', handler: () => 'of the host' });
      await app.start();
      return { origin: app.info.uri, close: () => app.stop({ timeout: 0 }) };
    },
  },
  {
    name: 'micro 10',
    hooks: ['x-host'],
    open(service) {
      const handle = nodeHandler(service);
      const listener = serve((request, response) => {
        for (const [name, value] of Object.entries(BEFORE)) response.setHeader(name, value);
        return handle(request, response, () => send(response, request.url === '/host' ? 200 : 404, 'of the host'));
      });
      return listening(createServer(listener));
    },
  },
  {
    name: 'NestJS on Express',
    hooks: ['x-host'],
    trustsProxy: true,
    async open(service, prefix = '/') {
      const app = await NestFactory.create<NestExpressApplication>(HostModule, {
        logger: false,
        forceCloseConnections: true,
      });
      app.disable('x-powered-by');
      app.set('trust proxy', 1);
      app.use((_request: unknown, response: { set(fields: object): void }, next: () => void) => {
        response.set(BEFORE);
        next();
      });
      app.use(prefix, nodeHandler(service));
      await app.listen(0, '127.0.0.1');
      return { origin: await app.getUrl(), close: () => app.close() };
    },
  },
  {
    name: 'NestJS on Fastify',
    hooks: ['x-host', 'x-host-after'],
    trustsProxy: true,
    async open(service, prefix = '') {
      const adapter = new FastifyAdapter({ trustProxy: '127.0.0.1', forceCloseConnections: true });
      const app = await NestFactory.create<NestFastifyApplication>(HostModule, adapter, { logger: false });
      app
        .getHttpAdapter()
        .getInstance()
        .addHook('onRequest', async (_request, reply) => void reply.headers(BEFORE));
      app
        .getHttpAdapter()
        .getInstance()
        .addHook('onSend', async (_request, reply) => void reply.header('X-Host-After', 'after'));
      await app.register(fastifyPlugin(service), { prefix });
      await app.listen(0, '127.0.0.1');
      return { origin: await app.getUrl(), close: () => app.close() };
    },
  },
];
