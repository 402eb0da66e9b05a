import 'reflect-metadata';
import { createServer } from 'node:http';
import { server as createHapi } from '@hapi/hapi';
import { getRequestListener } from '@hono/node-server';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { H3, serve as serveH3 } from 'h3';
import { Hono } from 'hono';
import { send, serve as serveMicro } from 'micro';
import { serve } from 'srvx';
import { fastifyPlugin } from 'store-orders/fastify';
import { fetchHandler } from 'store-orders/fetch';
import { nodeHandler } from 'store-orders/handler';
import { fetchHost, listening, type Mount, OF_THE_HOST, setHostFields } from '../../../http/mounts/support/mount.js';
import { addHooks } from './framework-mounts.js';

class HostController {
  host(): string {
    return OF_THE_HOST;
  }
}
class HostModule {}

// These calls do the same as the decorators @Controller(), @Get('host') and @Module({ … }).
Controller()(HostController);
Get('host')(HostController.prototype, 'host', { value: HostController.prototype.host });
Module({ controllers: [HostController] })(HostModule);

/** Options of srvx, and so of h3. */
const SERVER = { port: 0, hostname: '127.0.0.1', silent: true, trustProxy: true };

/** Hosts whose frameworks are packages of `test/hosts`. */
export const furtherMounts: readonly Mount[] = [
  {
    name: 'hapi 21',
    packages: ['@hapi/hapi'],
    async open(service) {
      const app = createHapi({ port: 0, host: '127.0.0.1' });
      const handle = nodeHandler(service);
      app.ext('onRequest', ({ raw: { req, res } }, h) => {
        setHostFields(req, res);
        if (!service.owns(req.url ?? '')) return h.continue;
        handle(req, res);
        return h.abandon;
      });
      app.route({ method: 'GET', path: '/host', handler: () => OF_THE_HOST });
      await app.start();
      return { origin: app.info.uri, close: () => app.stop({ timeout: 0 }) };
    },
  },
  {
    name: 'micro 10',
    packages: ['micro'],
    open(service) {
      const handle = nodeHandler(service);
      const listener = serveMicro((request, response) => {
        setHostFields(request, response);
        return handle(request, response, () => send(response, request.url === '/host' ? 200 : 404, OF_THE_HOST));
      });
      return listening(createServer(listener));
    },
  },
  {
    name: 'NestJS on Express',
    packages: ['@nestjs/core', 'express'],
    trustsProxy: true,
    async open(service, prefix = '/') {
      const options = { logger: false, forceCloseConnections: true } as const;
      const app = await NestFactory.create<NestExpressApplication>(HostModule, options);
      app.disable('x-powered-by');
      app.set('trust proxy', 1);
      app.use(setHostFields);
      app.use(prefix, nodeHandler(service));
      await app.listen(0, '127.0.0.1');
      return { origin: await app.getUrl(), close: () => app.close() };
    },
  },
  {
    name: 'NestJS on Fastify',
    packages: ['@nestjs/core', 'fastify'],
    trustsProxy: true,
    async open(service, prefix = '') {
      const adapter = new FastifyAdapter({ trustProxy: '127.0.0.1', forceCloseConnections: true });
      const app = await NestFactory.create<NestFastifyApplication>(HostModule, adapter, { logger: false });
      addHooks(app.getHttpAdapter().getInstance());
      await app.register(fastifyPlugin(service), { prefix });
      await app.listen(0, '127.0.0.1');
      return { origin: await app.getUrl(), close: () => app.close() };
    },
  },
  {
    name: 'h3 2',
    packages: ['h3'],
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
    packages: ['srvx'],
    trustsProxy: true,
    open: (service) => started(serve({ ...SERVER, fetch: fetchHost(service, fetchHandler(service)) })),
  },
  // This entry is last, because Hono replaces the global `Request` and `Response` with its own
  // classes. Hosts after it would use these classes.
  {
    name: 'Hono 4',
    packages: ['hono', '@hono/node-server'],
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
