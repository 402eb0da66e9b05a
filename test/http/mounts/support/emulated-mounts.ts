import { fetchHandler } from 'store-orders/fetch';
import type { OrderService } from 'store-orders/handler';
import { type LambdaEvent, lambda } from '../../../../examples/aws-lambda.js';
import { EMULATIONS, gateway } from './emulations.js';
import { koaApp } from './framework-mounts.js';
import type { Mount, Mounted } from './mount.js';
import { expressApp, host } from './node-mounts.js';

function emulated(name: string, fetchOf: (service: OrderService, prefix?: string) => Mounted['fetch']): Mount {
  return {
    name,
    hooks: ['x-host'],
    isEmulated: true,
    async open(service, prefix) {
      const fetch = fetchOf(service, prefix);
      return { origin: 'http://orders.test', close: async () => {}, ...(fetch && { fetch }) };
    },
  };
}

function lambdaHandler(service: OrderService) {
  const clientAddress = (_: Request, event: LambdaEvent) => event.requestContext.http.sourceIp;
  const orders = fetchHandler(service, { clientAddress });
  return lambda(async (request, event) => {
    const status = new URL(request.url).pathname === '/host' ? 200 : 404;
    const owned = service.owns(request.url);
    const response = owned ? await orders(request, event) : new Response('of the host', { status });
    response.headers.set('X-Host', 'after');
    response.headers.append('Vary', 'Origin');
    return response;
  });
}

export const emulatedMounts: readonly Mount[] = [
  ...Object.entries(EMULATIONS).map(([name, call]) => emulated(name, (service) => call(host(service)))),
  ...(['serverless-http', 'light-my-request'] as const).map((name) =>
    emulated(`Express 5 in ${name}`, (service, prefix) => EMULATIONS[name](expressApp(service, prefix))),
  ),
  emulated('Koa 3 in serverless-http', (service) => EMULATIONS['serverless-http'](koaApp(service, false).callback())),
  emulated('AWS Lambda', (service) => gateway(lambdaHandler(service))),
];
