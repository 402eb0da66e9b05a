/**
 * Mounts the service in Express 5 or Connect, as a middleware before or after the body parsers. The
 * client's address is `req.ip` of Express.
 *
 *     node --import tsx examples/express.ts
 */
import express from 'express';
import { nodeHandler } from 'store-orders';
import { port, service } from './orders.ts';

const app = express();
app.set('trust proxy', 'loopback');
app.use(nodeHandler(service));
app.use(express.json());
app.get('/', (_request, response) => {
  response.type('text').send('the host\n');
});

const server = app.listen(port, '127.0.0.1');
server.once('listening', () => console.log('listening on', server.address()));
