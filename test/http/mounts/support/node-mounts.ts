import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import connect from 'connect';
import express from 'express';
import { type NodeHandler, nodeHandler, type OrderService } from 'store-orders/handler';
import { certificate } from './certificate.js';
import { listening, type Mount } from './mount.js';
import { overHttp2, overHttps } from './tls-fetch.js';

/** A host without a framework, with a header and a route of its own. */
export function host(service: OrderService): (...parameters: Parameters<NodeHandler>) => ReturnType<NodeHandler> {
  const handle = nodeHandler(service);
  return (request, response) => {
    response.setHeader('X-Host', 'before');
    response.setHeader('Vary', 'Origin');
    if (service.owns(request.url ?? '')) return handle(request, response);
    response.statusCode = request.url === '/host' ? 200 : 404;
    const { end }: { end(text: string): unknown } = response;
    end.call(response, 'of the host');
  };
}

export function expressApp(service: OrderService, prefix = '/', place = 'before') {
  const app = express();
  app.disable('x-powered-by');
  app.use((_request, response, next) => {
    response.set({ 'X-Host': 'before', Vary: 'Origin' });
    next();
  });
  if (place === 'before') app.use(prefix, nodeHandler(service));
  app.use(express.json(), express.urlencoded(), express.text());
  if (place === 'after') app.use(prefix, nodeHandler(service));
  app.get('/host', (_request, response) => void response.send('of the host'));
  app.post('/host', (request, response) => void response.json(request.body));
  return app;
}

const HOOKS = ['x-host'];

export const nodeMounts: readonly Mount[] = [
  {
    name: 'node:http',
    hooks: HOOKS,
    open: (service) => listening(createServer({ requireHostHeader: false }, host(service))),
  },
  {
    name: 'node:https',
    hooks: HOOKS,
    open: async (service) => overHttps(await listening(createHttpsServer(certificate, host(service)), 'https')),
  },
  {
    name: 'node:http2',
    hooks: HOOKS,
    open: async (service) => overHttp2(await listening(createHttp2Server(host(service)))),
  },
  {
    name: 'node:http2 with TLS, in an HTTP/2 connection',
    hooks: HOOKS,
    open: async (service) => overHttp2(await listening(secureServer(service), 'https')),
  },
  {
    name: 'node:http2 with TLS, in an HTTP/1.1 connection',
    hooks: HOOKS,
    open: async (service) => overHttps(await listening(secureServer(service), 'https')),
  },
  ...['before', 'after'].map(
    (place): Mount => ({
      name: `Express 5, ${place} the body parsers`,
      hooks: HOOKS,
      trustsProxy: true,
      open: (service, prefix) => listening(createServer(expressApp(service, prefix, place).set('trust proxy', 1))),
    }),
  ),
  {
    name: 'Connect, after a body parser',
    hooks: HOOKS,
    open(service, prefix = '/') {
      const app = connect();
      app.use((_request: IncomingMessage, response: ServerResponse, next: () => void) => {
        response.setHeader('X-Host', 'before');
        response.setHeader('Vary', 'Origin');
        next();
      });
      app.use(express.json());
      app.use(prefix, nodeHandler(service));
      app.use('/host', (_request: IncomingMessage, response: ServerResponse) => response.end('of the host'));
      return listening(createServer(app));
    },
  },
];

function secureServer(service: OrderService) {
  return createSecureServer({ ...certificate, allowHTTP1: true }, host(service));
}
