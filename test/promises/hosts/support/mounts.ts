import { fetchHandler } from 'store-orders/fetch';
import type { OrderService } from 'store-orders/handler';
import { type LambdaEvent, lambda } from '../../../../examples/aws-lambda.js';
import { EMULATIONS, gateway } from '../../../http/mounts/support/emulations.js';
import { fetchHost, type Mount, type Mounted } from '../../../http/mounts/support/mount.js';
import { frameworkMounts, koaApp } from './framework-mounts.js';
import { expressApp, host, nodeMounts } from './node-mounts.js';

function emulated(
  name: string,
  packages: readonly string[],
  fetchOf: (service: OrderService, prefix?: string) => NonNullable<Mounted['fetch']>,
): Mount {
  return {
    name,
    packages,
    isEmulated: true,
    open: async (service, prefix) => ({
      origin: 'http://orders.test',
      fetch: fetchOf(service, prefix),
      close: async () => {},
    }),
  };
}

const clientAddress = (_: Request, event: LambdaEvent) => event.requestContext.http.sourceIp;

export const MOUNTS: readonly Mount[] = [
  ...nodeMounts,
  ...frameworkMounts,
  ...Object.entries(EMULATIONS).map(([name, call]) => emulated(name, [name], (service) => call(host(service)))),
  ...(['serverless-http', 'light-my-request'] as const).map((name) =>
    emulated(`Express 5 in ${name}`, ['express', name], (service, prefix) =>
      EMULATIONS[name](expressApp(service, prefix)),
    ),
  ),
  emulated('Koa 3 in serverless-http', ['koa', 'serverless-http'], (service) =>
    EMULATIONS['serverless-http'](koaApp(service, false).callback()),
  ),
  emulated('a fetch handler', [], (service) => fetchHost(service, fetchHandler(service))),
  emulated('AWS Lambda', [], (service) =>
    gateway(lambda(fetchHost(service, fetchHandler(service, { clientAddress })))),
  ),
];
