import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import Koa from 'koa';
import { fetchHandler } from 'store-orders/fetch';
import { nodeHandler, type OrderService } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { type LambdaEvent, lambda } from '../../../../examples/aws-lambda.js';
import { EMULATIONS, gateway } from './emulations.js';
import type { Mount, Mounted } from './mount.js';
import { host } from './node-mounts.js';

const BEFORE = { 'X-Host': 'before', Vary: 'Origin' };

function emulated(name: string, fetchOf: (service: OrderService, prefix?: string) => Mounted['fetch']): Mount {
  return {
    name,
    hooks: ['x-host'],
    isEmulated: true,
    async open(service, prefix) {
      const fetch = fetchOf(service, prefix);
      return { origin: 'http://orders.test', close: async () => {}, ...(fetch && { fetch }) };
    },
  };
}

function expressApp(service: OrderService, prefix = '/') {
  const app = express();
  app.disable('x-powered-by');
  app.use((_request, response, next) => {
    response.set(BEFORE);
    next();
  });
  app.use(prefix, nodeHandler(service));
  app.get('/host', (_request, response) => void response.send('of the host'));
  app.post('/host', express.json(), (request, response) => void response.json(request.body));
  return app;
}

function koaListener(service: OrderService): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx, next) => {
    ctx.set(BEFORE);
    await next();
  });
  app.use(koaMiddleware(service));
  app.use((ctx) => {
    if (ctx.path === '/host') ctx.body = 'of the host';
  });
  return app.callback();
}

function lambdaHandler(service: OrderService) {
  const clientAddress = (_: Request, event: LambdaEvent) => event.requestContext.http.sourceIp;
  const orders = fetchHandler(service, { clientAddress });
  return lambda(async (request, event) => {
    const status = new URL(request.url).pathname === '/host' ? 200 : 404;
    const owned = service.owns(request.url);
    const response = owned ? await orders(request, event) : new Response('of the host', { status });
    response.headers.set('X-Host', 'after');
    response.headers.append('Vary', 'Origin');
    return response;
  });
}

export const emulatedMounts: readonly Mount[] = [
  ...Object.entries(EMULATIONS).map(([name, call]) => emulated(name, (service) => call(host(service)))),
  ...(['serverless-http', 'light-my-request'] as const).map((name) =>
    emulated(`Express 5 in ${name}`, (service, prefix) => EMULATIONS[name](expressApp(service, prefix))),
  ),
  emulated('Koa 3 in serverless-http', (service) => EMULATIONS['serverless-http'](koaListener(service))),
  emulated('AWS Lambda', (service) => gateway(lambdaHandler(service))),
];
