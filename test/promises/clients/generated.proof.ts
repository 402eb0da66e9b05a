import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { createOpenApiDocument } from 'store-orders/openapi';
import { createTestService } from 'store-orders/testing';
import { exactFetch } from '../../../examples/exact-fetch.js';
import { toolsFolder, withoutTools } from '../../http/openapi/support/tools.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const EDGE = 2n ** 53n;
const load = (name: string) => import(`${toolsFolder}node_modules/${name}/dist/index.mjs`);
let generated: string;

/**
 * A function that lists the orders, cancels the last one, and returns that order's id as the client
 * has read it.
 */
type Cancel = (url: string, apiKey: string, fetch: typeof globalThis.fetch) => Promise<unknown>;

async function withHeyApi(folder: string, ...[url, apiKey, fetch]: Parameters<Cancel>): Promise<unknown> {
  const { createClient } = await import(join(generated, folder, 'client/index.ts'));
  const { listOrders, cancelOrder } = await import(join(generated, folder, 'sdk.gen.ts'));
  const client = createClient({ baseUrl: url, auth: apiKey, fetch, throwOnError: true });
  const { data } = await listOrders({ client });
  await cancelOrder({ client, path: { orderId: data[1].id } });
  return data[1].id;
}

const CLIENTS: readonly (readonly [name: string, cancel: Cancel, exact: unknown])[] = [
  [
    'openapi-fetch',
    async (baseUrl, apiKey, fetch) => {
      const { default: createClient } = await load('openapi-fetch');
      const client = createClient({ baseUrl, fetch, headers: { Authorization: `Bearer ${apiKey}` } });
      const { data } = await client.GET('/store/orders');
      await client.DELETE('/store/orders/{orderId}', { params: { path: { orderId: data[1].id } } });
      return data[1].id;
    },
    `${EDGE + 1n}`,
  ],
  ['hey-api', (...target) => withHeyApi('plain', ...target), `${EDGE + 1n}`],
  ['hey-api with ids as bigint', (...target) => withHeyApi('bigint', ...target), EDGE + 1n],
];

suite('a client generated from the OpenAPI document', { skip: withoutTools }, () => {
  before(async () => {
    generated = temporaryDirectory();
    const { createClient } = await load('@hey-api/openapi-ts');
    const make = (folder: string, plugins: readonly unknown[]) =>
      createClient({
        input: createOpenApiDocument(),
        output: join(generated, folder),
        plugins: ['@hey-api/client-fetch', ...plugins],
        logs: { level: 'silent', file: false },
      });
    await make('plain', ['@hey-api/sdk']);
    await make('bigint', [
      { name: '@hey-api/transformers', bigInt: true },
      { name: '@hey-api/sdk', transformer: true },
    ]);
  });

  for (const [name, cancel, exact] of CLIENTS) {
    test(`${name} cancels the right order with exactFetch, and the wrong one without exactFetch`, async (t) => {
      const { listen, store, apiKey } = createTestService({ orders: [{ id: EDGE }, { id: EDGE + 1n }] });
      const { url, close } = await listen();
      t.after(close);
      assert.equal(await cancel(url, apiKey, exactFetch), exact);
      assert.deepEqual([store.get(EDGE)?.status, store.get(EDGE + 1n)?.status], ['pending', 'cancelled']);
      assert.equal(String(await cancel(url, apiKey, globalThis.fetch)), `${EDGE}`);
      assert.equal(store.get(EDGE)?.status, 'cancelled', 'without exactFetch the id is rounded');
    });
  }
});
