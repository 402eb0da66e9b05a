/**
 * Serves the orders from a plain node:http server that also has routes of its own.
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
    // This function responds to all paths outside the service: the host's own routes.
    response.writeHead(request.url === '/' ? 200 : 404, { 'Content-Type': 'text/plain' });
    response.end(request.url === '/' ? 'the host\n' : 'nothing here\n');
  }),
);
// With this call, the service also responds to requests that are not valid HTTP, and to clients
// that have already closed their sending half of the connection.
orders.attach(server);

server.listen(port, '127.0.0.1', () => console.log('listening on', server.address()));
