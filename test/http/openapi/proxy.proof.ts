import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { createMemoryOrderStore, nodeHandler } from 'store-orders';
import { listenOnFreePort } from '../../support/listen.js';
import { authenticate, createShop } from '../support/shop.js';
import { listen } from '../support/ways.js';
import { PROVOCATIONS } from './support/provoke.js';
import { pathOf, toolEnvironment, withoutTools } from './support/tools.js';
import { operations, text } from './support/validate.js';

// An example client calls the service through Prism, which compares each request and each response
// with the document. A relay behind Prism does what a client cannot do through a proxy: it corrupts
// requests.
//
// client → Prism → relay → service

const LIST = { method: 'GET', path: '/store/orders' };
/** All ids here stay within 2^53, because Prism 5.14 does not accept larger ones as int64. */
const cancel = (id: number) => ({ method: 'DELETE', path: `/store/orders/${id}` });

interface Row {
  readonly apiKey?: string;
  readonly query?: string;
  readonly header?: readonly [string, string];
  /** The order that the request cancels. Default: 2. */
  readonly id?: number;
  /** How many equal requests are sent before the one that is checked. Default: 0. */
  readonly before?: number;
}

/** How to provoke each status, for either operation. */
const ROWS: Readonly<Record<number, Row>> = {
  200: {},
  204: { id: 1 },
  304: { header: ['If-None-Match', '*'] },
  400: { header: ['X-Relay', 'no host'] },
  401: { apiKey: 'unknown' },
  404: { id: 999 },
  408: { header: ['X-Relay', 'stop'] },
  409: { id: 2 },
  412: { id: 3, header: ['If-Match', '"another"'] },
  414: { query: `?${'x'.repeat(9_000)}` },
  429: { apiKey: 'tiny-key', before: 2 },
  431: { header: ['X-Long', 'x'.repeat(20_000)] },
  500: { apiKey: 'broken-key' },
  503: { apiKey: 'failing-key' },
};

let ask: (request: { method: string; path: string }, row: Row) => Promise<Response>;

suite('Prism, as a proxy, finds no violation of the OpenAPI document', { skip: withoutTools }, () => {
  const open: (() => unknown)[] = [];
  after(async () => {
    for (const close of open.reverse()) await close();
  });

  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'store-orders-'));
    open.push(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'openapi.json'), text);
    const store = createMemoryOrderStore([
      { id: 1, petId: 7, quantity: 2, shipDate: '2026-02-03T04:05:06Z', complete: false },
      { id: 2, status: 'shipped' },
      { id: 3 },
      { id: Number.MAX_SAFE_INTEGER },
    ]);
    const { service } = createShop({
      store,
      authenticate(apiKey) {
        if (apiKey === 'failing-key') throw new Error('no database');
        if (apiKey === 'broken-key') return PROVOCATIONS.internal_error.options?.authenticate?.('free-key');
        return authenticate(apiKey);
      },
    });
    const options = { headersTimeout: 200, requestTimeout: 200, connectionsCheckingInterval: 50 };
    const { server, port, close } = await listen(nodeHandler(service), options);
    nodeHandler(service).attach(server);
    open.push(close);
    const relay = createRelay(port);
    open.push(() => relay.close());
    const url = await startPrism(join(folder, 'openapi.json'), await listenOnFreePort(relay));
    ask = ({ method, path }, { apiKey = 'business-key', query = '', header = ['X-Relay', 'pass on'] }) =>
      fetch(`${url}${path}${query}`, { method, headers: [['Authorization', `Bearer ${apiKey}`], [...header]] });
  });

  async function startPrism(file: string, upstreamPort: number): Promise<string> {
    const free = createServer();
    const port = await listenOnFreePort(free);
    free.close();
    const upstream = `http://127.0.0.1:${upstreamPort}/v1`;
    // Without this option, the Node.js that runs Prism would respond with 431 itself.
    const roomy = '--max-http-header-size=65536';
    const parameters = [roomy, pathOf('prism'), 'proxy', file, upstream, '--host', '127.0.0.1', '--port', `${port}`];
    const child = spawn(process.execPath, parameters, { env: toolEnvironment(), stdio: ['ignore', 'pipe', 'inherit'] });
    open.push(async () => {
      child.kill();
      await once(child, 'exit');
    });
    let printed = '';
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      printed += chunk;
      if (printed.includes('is listening')) break;
    }
    child.stdout.resume();
    return `http://127.0.0.1:${port}`;
  }

  for (const operation of ['listOrders', 'cancelOrder'] as const) {
    for (const status of Object.keys(operations[operation].responses).map(Number)) {
      test(`in response ${status} of ${operation}`, async () => {
        const row = ROWS[status] ?? assert.fail(`no row provokes ${status}`);
        const request = operation === 'listOrders' ? LIST : cancel(row.id ?? 2);
        for (let i = 0; i < (row.before ?? 0); i++) await ask(request, row);
        const response = await ask(request, row);
        assert.equal(response.status, status);
        assert.equal(response.headers.get('sl-violations'), null);
      });
    }
  }

  test('Prism reports an undocumented response', async () => {
    const response = await ask({ method: 'PUT', path: '/store/orders' }, {});
    assert.equal(response.status, 405);
    assert.match(response.headers.get('sl-violations') ?? '', /route not found/);
  });
});

function createRelay(port: number): Server {
  return createServer((client) => {
    const service = connect(port, '127.0.0.1');
    // The requests are small, so each head arrives in one piece.
    client.on('data', (chunk: Buffer) => {
      const head = chunk.toString('latin1');
      const how = /x-relay: (.*)\r\n/i.exec(head)?.[1];
      const torn = how === 'no host' ? head.replace(/\r\nhost: [^\r]*/i, '\r\nHost: ') : head.slice(0, -2);
      service.write(how === 'pass on' || how === undefined ? chunk : torn, 'latin1');
    });
    service.pipe(client);
    client.on('error', () => service.destroy());
    service.on('error', () => client.destroy());
  });
}
