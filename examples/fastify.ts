/**
 * Mounts the service in Fastify 5 as a plugin. Hooks of the host run before and after the service.
 * The client's address is `request.ip`.
 *
 *     node --import tsx examples/fastify.ts
 */
import { fastify } from 'fastify';
import { fastifyPlugin } from 'store-orders/fastify';
import { port, service } from './orders.ts';

const app = fastify({ trustProxy: 'loopback' });
app.addHook('onSend', async (request, reply) => void reply.header('X-Request-Id', request.id));
app.register(fastifyPlugin(service));
app.get('/', () => 'the host\n');

await app.listen({ port, host: '127.0.0.1' });
console.log('listening on', app.server.address());
