import assert from 'node:assert/strict';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { after, before, suite, test } from 'node:test';
import { nodeHandler } from 'store-orders/handler';
import { type AuditTarget, createTestService, serviceAudits } from 'store-orders/testing';
import { listening, type Mount, type Mounted, OF_THE_HOST, setHostFields } from '../../http/mounts/support/mount.js';
import { toolsFolder, withoutTools } from '../../http/openapi/support/tools.js';
import { checkAnswer, createAnswer } from '../../http/support/answer.js';
import { withoutHosts } from '../../support/installed.js';
import { type Audited, checkPage } from './support/audited.js';
import { hostSuite } from './support/host-suite.js';
import { MOUNTS } from './support/mounts.js';

type Handler = (request: IncomingMessage, response: ServerResponse, next: (goOn?: false) => void) => void;

/** The part of restify that is used, declared here because restify is not always installed. */
interface Restify {
  readonly server: Server;
  pre(handler: Handler): void;
  get(path: string, handler: Handler): void;
}

/** restify loads `http_parser`, a part of Node.js that Node.js 24 no longer has. */
const withoutRestify =
  withoutTools ||
  (Number(process.versions.node.split('.')[0]) >= 24 && 'restify 11 does not load on Node.js 24 or later');

const restify: Mount = {
  name: 'restify 11',
  packages: ['restify'],
  async open(service) {
    const app: Restify = createRequire(`${toolsFolder}package.json`)('restify').createServer();
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
};

const audited: Audited[] = [];
for (const mount of MOUNTS) auditSuite(mount);
/** The hosts whose frameworks are packages of `test/hosts`. */
const { furtherMounts } = withoutHosts ? { furtherMounts: [] } : await import('./support/further-mounts.js');

for (const mount of [...(withoutRestify ? [] : [restify]), ...furtherMounts]) {
  auditSuite(mount);
  hostSuite(mount);
}
for (const skip of [withoutHosts, withoutRestify]) if (skip) test('hosts of further frameworks', { skip });

test('the page of audited hosts has a row for each of them', () =>
  checkPage(audited, !withoutHosts && !withoutRestify));

/** Runs the exported audits over a host. */
function auditSuite({ name, packages = [], open }: Mount): void {
  suite(`reached by ${name}`, () => {
    const shop = createTestService();
    let mounted: Mounted;
    before(async () => {
      mounted = await open(shop.service);
    });

    const target: AuditTarget = {
      ...shop,
      fetch: checked,
      get url() {
        return `${mounted.origin}/v1`;
      },
    };

    // node-mock-http removes Content-Length from a response to HEAD.
    const without = name === 'node-mock-http' ? ['4.1-head'] : [];
    const passed: string[] = [];
    const audits = serviceAudits(target);
    after(async () => {
      audited.push({ name, packages, passed: passed.length, audits: audits.length, without });
      await mounted.close();
    });

    /** Sends a request, and checks the rules that hold for every response of the service. */
    async function checked(request: Request): Promise<Response> {
      const { fetch = globalThis.fetch } = mounted;
      const response = await fetch(request);
      if (shop.service.owns(request.url)) {
        const text = await response.clone().text();
        checkAnswer(createAnswer(response.status, [...response.headers].flat(), text), request.method);
        assert.ok(response.headers.has('x-host'), `${response.status} without X-Host`);
      }
      return response;
    }

    for (const { id, name: says, run } of audits) {
      if (without.includes(id)) continue;
      test(says, async () => {
        await run();
        passed.push(id);
      });
    }
  });
}
