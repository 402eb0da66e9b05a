import { createServer, type Server } from 'node:http';
import type { TestContext } from 'node:test';
import { fastify } from 'fastify';
import Koa from 'koa';
import type { OrderService } from 'store-orders';
import { fastifyPlugin } from 'store-orders/fastify';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { listening } from './mount.js';

const koaServer = (service: OrderService) => createServer(new Koa().use(koaMiddleware(service)).callback());

/** Servers of node:http in which the service is mounted. */
export const SERVERS = {
  nodeHandler: (service) => createServer(nodeHandler(service)),
  'nodeHandler with attach': (service) => {
    const handle = nodeHandler(service);
    return handle.attach(createServer(handle));
  },
  koaMiddleware: koaServer,
  'koaMiddleware with attach': (service) => nodeHandler(service).attach(koaServer(service)),
  fastifyPlugin: async (service) => {
    const app = fastify();
    await app.register(fastifyPlugin(service));
    await app.ready();
    return app.server;
  },
} as const satisfies Readonly<Record<string, (service: OrderService) => Server | Promise<Server>>>;

/** Starts a server, and closes it at the end of the test. Returns its port. */
export async function serve(t: TestContext, server: Parameters<typeof listening>[0]): Promise<number> {
  const { port, close } = await listening(server);
  t.after(() => void close());
  return port;
}
