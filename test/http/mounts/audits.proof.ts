import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { fetchHandler } from 'store-orders/fetch';
import { type AuditTarget, createTestService, serviceAudits } from 'store-orders/testing';
import { withoutHosts } from '../../support/installed.js';
import { sampled } from '../../support/sampled.js';
import { checkAnswer, createAnswer } from '../support/answer.js';
import { fetchHost } from './support/fetch-host.js';
import type { Mount, Mounted } from './support/mount.js';
import { furtherMounts, MOUNTS } from './support/mounts.js';

const fetchMount: Mount = {
  name: 'a fetch handler',
  open: async (service) => ({
    origin: 'http://orders.test',
    fetch: fetchHost(service, fetchHandler(service)),
    close: async () => {},
  }),
};

for (const { name, open } of [fetchMount, ...sampled([...MOUNTS, ...(await furtherMounts())])]) {
  suite(`reached by ${name}`, () => {
    const shop = createTestService();
    let mounted: Mounted;
    before(async () => {
      mounted = await open(shop.service);
    });
    after(() => mounted.close());

    const target: AuditTarget = {
      ...shop,
      fetch: checked,
      get url() {
        return `${mounted.origin}/v1`;
      },
    };

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

    for (const { id, name: says, run } of serviceAudits(target)) {
      // This audit is skipped for node-mock-http, which removes Content-Length from a response to
      // HEAD.
      if (name === 'node-mock-http' && id === '4.1-head') continue;
      test(says, run);
    }
  });
}

if (withoutHosts) test('the audits in hosts of further frameworks', { skip: withoutHosts });
