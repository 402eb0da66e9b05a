import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { test } from 'node:test';
import { fastify } from 'fastify';
import Koa from 'koa';
import type { OrderService } from 'store-orders';
import { fastifyPlugin } from 'store-orders/fastify';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { serve } from '../../http/mounts/support/servers.js';
import { createShop, KEY, ORDERS } from '../../http/support/shop.js';

/** Hosts that set the Cache-Control of each response. */
const HOSTS: Readonly<Record<string, (service: OrderService, value: string) => Server | Promise<Server>>> = {
  'node:http': (service, value) => {
    const handle = nodeHandler(service);
    return createServer((request, response) => handle(request, response.setHeader('Cache-Control', value)));
  },
  Koa: (service, value) => {
    const app = new Koa().use((ctx, next) => {
      ctx.set('Cache-Control', value);
      return next();
    });
    return createServer(app.use(koaMiddleware(service)).callback());
  },
  Fastify: async (service, value) => {
    const app = fastify();
    app.addHook('onRequest', async (_request, reply) => void reply.header('Cache-Control', value));
    await app.register(fastifyPlugin(service));
    await app.ready();
    return app.server;
  },
};

for (const [name, mount] of Object.entries(HOSTS)) {
  test(`${name}: the host's Cache-Control replaces that of a list, but not that of an error`, async (t) => {
    const port = await serve(t, await mount(createShop().service, 'private, max-age=5'));
    const ask = async (...fields: [string, string][]) => {
      const { status, headers } = await fetch(`http://127.0.0.1:${port}${ORDERS}`, { headers: fields });
      return { status, cacheControl: headers.get('Cache-Control'), tag: `${headers.get('ETag')}` };
    };
    const list = await ask(KEY);
    const unchanged = await ask(KEY, ['If-None-Match', list.tag]);
    assert.deepEqual(
      [list, unchanged, await ask()].map(({ status, cacheControl }) => [status, cacheControl]),
      [
        [200, 'private, max-age=5'],
        [304, 'private, max-age=5'],
        [401, 'no-store'],
      ],
    );
  });
}
