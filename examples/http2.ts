/**
 * Serves the orders over HTTP/2 with node:http2. In production, use the same handler with
 * `createSecureServer({ key, cert, allowHTTP1: true }, …)`. A server of node:https can use the
 * handler too.
 *
 *     node --import tsx examples/http2.ts
 *     curl --http2-prior-knowledge -H 'Authorization: Bearer open-sesame' \
 *       http://127.0.0.1:3000/v1/store/orders
 */
import { createServer } from 'node:http2';
import { nodeHandler } from 'store-orders';
import { port, service } from './orders.ts';

const orders = nodeHandler(service);

const server = createServer((request, response) =>
  orders(request, response, () => {
    response.writeHead(request.url === '/' ? 200 : 404, { 'Content-Type': 'text/plain' });
    response.end(request.url === '/' ? 'the host\n' : 'nothing here\n');
  }),
);

server.listen(port, '127.0.0.1', () => console.log('listening on', server.address()));
