import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Audit, createTestService, serviceAudits, type TestService } from 'store-orders/testing';
import { failures } from '../../support/failures.js';

type Fetch = (request: Request) => Response | Promise<Response>;
export type Break = (fetch: Fetch, service: TestService) => Fetch;

export function auditsOf(breaks: Break): readonly Audit[] {
  const service = createTestService();
  return serviceAudits({ ...service, fetch: breaks(service.fetch, service) });
}

interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly service: TestService;
}

export const changingRequests =
  (change: (request: Request, service: TestService) => Request): Break =>
  (fetch, service) =>
  (request) =>
    fetch(change(request, service));

export function withFields(request: Request, change: (fields: Headers) => void): Request {
  const changed = new Request(request);
  change(changed.headers);
  return changed;
}

export const changingResponses =
  (change: (exchange: Exchange) => Promise<Response> | Response): Break =>
  (fetch, service) =>
  async (request) =>
    change({ request, response: await fetch(request), service });

const changingFields = (change: (fields: Headers, exchange: Exchange) => void): Break =>
  changingResponses((exchange) => {
    const changed = new Response(exchange.response.body, exchange.response);
    change(changed.headers, exchange);
    return changed;
  });

export const changingLists = (change: (text: string, service: TestService) => string): Break =>
  changingResponses(async ({ request, response, service }) =>
    request.method === 'GET' && response.status === 200
      ? new Response(change(await response.text(), service), response)
      : response,
  );

/** Changes a field of those responses that have it. */
export const changingField = (name: string, change: (value: string, exchange: Exchange) => string): Break =>
  changingFields((fields, exchange) => {
    const value = fields.get(name);
    if (value !== null) fields.set(name, change(value, exchange));
  });

/** Broken servers by what they do wrong, each with audits that it must fail. */
export type BrokenServers = Readonly<Record<string, readonly [readonly string[], Break]>>;

export function testBrokenServers(servers: BrokenServers): void {
  for (const [how, [expected, breaks]] of Object.entries(servers)) {
    test(`audits fail for a server that ${how}`, async () => {
      const audits = auditsOf(breaks).filter(({ id }) => expected.includes(id));
      const failed = (await failures(audits)).map((name) => name.split(':')[0]);
      assert.deepEqual(failed.sort(), [...expected].sort());
    });
  }
}
