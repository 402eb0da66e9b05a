/**
 * Mounts the service in h3 2, as a fetch handler for the paths of the service. The client's address
 * is the request's `ip`, which follows `trustProxy`.
 *
 *     node --import tsx examples/h3.ts
 */
import { H3, serve } from 'h3';
import { fetchHandler } from 'store-orders/fetch';
import { port, service } from './orders.ts';

const orders = fetchHandler(service);

const app = new H3();
app.use((event, next) => (service.owns(event.req.url) ? orders(event.req) : next()));
app.get('/', () => 'the host\n');

const server = serve(app, { port, hostname: '127.0.0.1', silent: true });
await server.ready();
console.log('listening on', server.url);
