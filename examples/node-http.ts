/**
 * A plain node:http server with routes of its own, and the orders beside them.
 *
 *     node --import tsx examples/node-http.ts
 *     curl -H 'Authorization: Bearer open-sesame' http://127.0.0.1:3000/v1/store/orders
 */
import { createServer } from 'node:http';
import { nodeHandler } from 'store-orders';
import { port, service } from './orders.ts';

const orders = nodeHandler(service);

const server = createServer((request, response) =>
  orders(request, response, () => {
    // A path outside the orders service belongs to the host's own routes.
    response.writeHead(request.url === '/' ? 200 : 404, { 'Content-Type': 'text/plain' });
    response.end(request.url === '/' ? 'the host\n' : 'nothing here\n');
  }),
);
// Lets the service also respond to requests that are not valid HTTP, and to clients that have
// closed their sending half.
orders.attach(server);

server.listen(port, '127.0.0.1', () => console.log('listening on', server.address()));
