import { createServer, type Server } from 'node:http';
import { fastify } from 'fastify';
import Koa from 'koa';
import type { OrderService } from 'store-orders';
import { fastifyPlugin } from 'store-orders/fastify';
import { nodeHandler } from 'store-orders/handler';
import { koaMiddleware } from 'store-orders/koa';
import { createTestService } from 'store-orders/testing';

// Starts a host in which the service is mounted, and prints the port.

const HOSTS: Readonly<Record<string, (service: OrderService) => Server | Promise<Server>>> = {
  node: (service) => {
    const handle = nodeHandler(service);
    return handle.attach(createServer(handle));
  },
  koa: (service) => createServer(new Koa().use(koaMiddleware(service)).callback()),
  fastify: async (service) => {
    const app = fastify();
    await app.register(fastifyPlugin(service));
    await app.ready();
    return app.server;
  },
};

const { service } = createTestService();
const server = await HOSTS[process.argv[2] ?? '']?.(service);
server?.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
