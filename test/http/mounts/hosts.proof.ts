import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { nodeHandler } from 'store-orders/handler';
import { withoutHosts } from '../../support/installed.js';
import { toolsFolder, withoutTools } from '../openapi/support/tools.js';
import { hostSuite } from './support/host-suite.js';
import { listening, OF_THE_HOST, setHostFields } from './support/mount.js';
import { furtherMounts } from './support/mounts.js';

type Handler = (request: IncomingMessage, response: ServerResponse, next: (goOn?: false) => void) => void;

/** The part of restify that is used, declared here because restify is not always installed. */
interface Restify {
  readonly server: Server;
  pre(handler: Handler): void;
  get(path: string, handler: Handler): void;
}

const name = 'restify 11';

/** restify loads `http_parser`, a part of Node.js that Node.js 24 no longer has. */
const unsupported =
  Number(process.versions.node.split('.')[0]) >= 24 && 'restify 11 does not load on Node.js 24 or later';
const reason = withoutTools || unsupported;

if (reason) {
  test(`a host of ${name}`, { skip: reason }, () => {});
} else {
  const restify = createRequire(`${toolsFolder}package.json`)('restify');
  hostSuite({
    name,
    async open(service) {
      const app: Restify = restify.createServer();
      const handle = nodeHandler(service);
      app.pre(setHostFields);
      app.pre((request, response, next) => {
        if (!service.owns(request.url ?? '')) return next();
        // Without a call of `next`, restify counts the request as in flight forever.
        response.once('close', () => next(false));
        handle(request, response);
      });
      app.get('/host', (_request, response, next) => {
        response.end(OF_THE_HOST);
        next();
      });
      return listening(app.server);
    },
  });
}

for (const mount of await furtherMounts()) hostSuite(mount);
if (withoutHosts) test('hosts of further frameworks', { skip: withoutHosts });
