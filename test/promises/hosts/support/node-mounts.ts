import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import connect from 'connect';
import express from 'express';
import { forwardedAddress, type NodeHandler, nodeHandler, type OrderService } from 'store-orders/handler';
import { certificate } from '../../../http/mounts/support/certificate.js';
import { listening, type Mount, OF_THE_HOST, setHostFields } from '../../../http/mounts/support/mount.js';
import { overHttp2, trustAnyCertificate } from '../../../http/mounts/support/tls-fetch.js';

type Listener = (...parameters: Parameters<NodeHandler>) => ReturnType<NodeHandler>;

/** A host without a framework. */
export function host(service: OrderService, options?: Parameters<typeof nodeHandler>[1]): Listener {
  const handle = nodeHandler(service, options);
  return (request, response) => {
    setHostFields(request, response);
    if (service.owns(request.url ?? '')) return handle(request, response);
    response.statusCode = request.url === '/host' ? 200 : 404;
    const { end }: { end(text: string): unknown } = response;
    end.call(response, OF_THE_HOST);
  };
}

export function expressApp(service: OrderService, prefix = '/', place = 'before') {
  const app = express();
  app.use(setHostFields);
  if (place === 'before') app.use(prefix, nodeHandler(service));
  app.use(express.json(), express.urlencoded(), express.text());
  if (place === 'after') app.use(prefix, nodeHandler(service));
  app.get('/host', (_request, response) => void response.send(OF_THE_HOST));
  app.post('/host', (request, response) => void response.json(request.body));
  return app.disable('x-powered-by');
}

const openSecure = (service: OrderService) =>
  listening(createSecureServer({ ...certificate, allowHTTP1: true }, host(service)), 'https');

export const nodeMounts: readonly Mount[] = [
  {
    name: 'node:http',
    trustsProxy: true,
    open: (service) => listening(createServer(host(service, { clientAddress: forwardedAddress(1) }))),
  },
  {
    name: 'node:https',
    open: (service) => trustAnyCertificate(listening(createHttpsServer(certificate, host(service)), 'https')),
  },
  { name: 'node:http2', open: async (service) => overHttp2(await listening(createHttp2Server(host(service)))) },
  {
    name: 'node:http2 with TLS, in an HTTP/2 connection',
    open: async (service) => overHttp2(await openSecure(service)),
  },
  {
    name: 'node:http2 with TLS, in an HTTP/1.1 connection',
    open: (service) => trustAnyCertificate(openSecure(service)),
  },
  ...['before', 'after'].map(
    (place): Mount => ({
      name: `Express 5, ${place} the body parsers`,
      packages: ['express'],
      trustsProxy: true,
      open: (service, prefix) => listening(createServer(expressApp(service, prefix, place).set('trust proxy', 1))),
    }),
  ),
  {
    name: 'Connect, after a body parser',
    packages: ['connect'],
    open(service, prefix = '/') {
      const app = connect().use(setHostFields).use(express.json()).use(prefix, nodeHandler(service));
      app.use('/host', (_request: IncomingMessage, response: ServerResponse) => response.end(OF_THE_HOST));
      return listening(createServer(app));
    },
  },
];
