import 'reflect-metadata';
import { createServer } from 'node:http';
import { server as createHapi } from '@hapi/hapi';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { send, serve } from 'micro';
import { fastifyPlugin } from 'store-orders/fastify';
import { nodeHandler } from 'store-orders/handler';
import { fetchMounts } from './fetch-mounts.js';
import { listening, type Mount } from './mount.js';

const BEFORE = { 'X-Host': 'before', Vary: 'Origin' };

class HostController {
  host(): string {
    return 'of the host';
  }
}
class HostModule {}

// These calls do the same as the decorators @Controller(), @Get('host') and @Module({ … }).
Controller()(HostController);
Get('host')(HostController.prototype, 'host', { value: HostController.prototype.host });
Module({ controllers: [HostController] })(HostModule);

/** Hosts whose frameworks are packages of `test/hosts`. */
export const furtherMounts: readonly Mount[] = [
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
  // Hono is among these, and replaces global classes.
  ...fetchMounts,
];
