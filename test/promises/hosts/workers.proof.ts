import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type TestContext, test } from 'node:test';
import { toolsFolder, withoutTools } from '../../http/openapi/support/tools.js';
import { root } from '../../support/root.js';

// The part of miniflare that is used, declared here because miniflare is not always installed.
interface Miniflare {
  readonly ready: Promise<URL>;
  dispatchFetch(url: string, init: RequestInit): Promise<Response>;
  dispose(): Promise<void>;
}

const require = createRequire(`${toolsFolder}package.json`);

/** Starts workerd with this module, bundled as wrangler bundles it. */
async function start(t: TestContext, module: string): Promise<Miniflare> {
  const { build } = require('esbuild');
  const stdin = { contents: module, resolveDir: root, loader: 'ts' };
  const options = { bundle: true, write: false, format: 'esm', conditions: ['workerd'], external: ['node:*'] };
  const { outputFiles } = await build({ stdin, ...options });
  const { Miniflare } = require('miniflare');
  const compatibility = { compatibilityDate: '2026-01-01', compatibilityFlags: ['nodejs_compat'] };
  const workerd: Miniflare = new Miniflare({ modules: true, script: outputFiles[0].text, ...compatibility });
  t.after(() => workerd.dispose());
  return workerd;
}

test('examples/workers.ts serves in Cloudflare Workers', { skip: withoutTools }, async (t) => {
  const workerd = await start(t, `export { default } from './examples/workers.ts';`);
  const ask = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
    workerd.dispatchFetch(`http://orders.test${path}`, { method, headers });
  const KEY = { authorization: 'Bearer open-sesame' };
  assert.equal(await (await ask('/')).text(), 'the host\n');
  assert.equal((await ask('/elsewhere')).status, 404);
  assert.match(await (await ask('/v1/store/orders', 'GET', KEY)).text(), /"id":9007199254740993,/);
  for (const status of [204, 409]) {
    assert.equal((await ask('/v1/store/orders/9007199254740993', 'DELETE', KEY)).status, status);
  }
  for (const [address, remaining] of [
    ['203.0.113.1', '599'],
    ['203.0.113.1', '598'],
    ['203.0.113.2', '599'],
  ] as const) {
    const { status, headers } = await ask('/v1/store/orders', 'GET', { 'cf-connecting-ip': address });
    assert.deepEqual([status, headers.get('x-ratelimit-remaining')], [401, remaining]);
  }
});

const LONG_LIST = `
  import { createKeyAuthenticator, createMemoryLimiter, createMemoryOrderStore, createOrderService, PLANS } from 'store-orders';
  import { fetchHandler } from 'store-orders/fetch';
  const store = createMemoryOrderStore(Array.from({ length: 20_000 }, (_, id) => ({ id })));
  const authenticate = createKeyAuthenticator({ 'open-sesame': { id: 'customer-1', plan: PLANS.business } });
  export default { fetch: fetchHandler(createOrderService({ store, limiter: createMemoryLimiter(), authenticate })) };
`;

test('Cloudflare Workers does not compress a list that is compressed already', { skip: withoutTools }, async (t) => {
  const url = new URL('/v1/store/orders', await (await start(t, LONG_LIST)).ready);
  for (const coding of ['identity', 'gzip', 'br']) {
    const headers = { Authorization: 'Bearer open-sesame', 'Accept-Encoding': coding };
    const response = await fetch(url, { headers });
    assert.equal(response.headers.get('content-encoding') ?? 'identity', coding);
    // `fetch` decodes the list once.
    assert.equal(Object(await response.json()).length, 20_000);
  }
});
