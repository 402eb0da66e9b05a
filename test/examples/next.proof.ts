import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withoutHosts } from '../support/installed.js';
import { run } from '../support/outer-environment.js';
import { root } from '../support/root.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { headers, pathOf, serve } from './support/start.js';

const tools = join(root, 'test/next-tools/node_modules');
const skip = withoutHosts || (!existsSync(tools) && 'Next.js is not installed: npm ci --prefix test/next-tools');

process.env['NEXT_TELEMETRY_DISABLED'] = '1';

/** Creates an application with the example as its only route. Its list is long enough to compress. */
async function createApplication(): Promise<string> {
  const folder = temporaryDirectory();
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(tools)) if (!name.startsWith('.')) symlinkSync(join(tools, name), join(modules, name));
  symlinkSync(root, join(modules, 'store-orders'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const route = join(folder, 'app/v1/store/orders/[[...id]]');
  mkdirSync(route, { recursive: true });
  const { transform } = await import('esbuild');
  for (const [file, source] of [
    ['route.js', pathOf('next-route.ts')],
    ['orders.js', join(root, 'test/examples/support/many-orders.ts')],
  ] as const) {
    const { code } = await transform(readFileSync(source, 'utf8'), { loader: 'ts' });
    writeFileSync(join(route, file), code.replace('./orders.ts', './orders.js'));
  }
  return folder;
}

test('examples/next-route.ts serves a list in every coding, and cancels, after next build and next start', {
  skip,
}, async (t) => {
  const cwd = await createApplication();
  const next = join(tools, 'next/dist/bin/next');
  run(process.execPath, [next, 'build', '--webpack'], cwd);
  const start = [process.execPath, next, 'start', '--port', '0', '--hostname', '127.0.0.1'];
  const url = `${await serve(t, start, { cwd })}/v1/store/orders`;
  for (const coding of ['identity', 'gzip', 'br', 'gzip, br']) {
    const response = await fetch(url, { headers: { ...headers, 'Accept-Encoding': coding } });
    assert.equal(response.status, 200);
    const orders: unknown = JSON.parse(await response.text());
    assert.ok(Array.isArray(orders) && orders.length === 1_000, coding);
  }
  assert.equal((await fetch(`${url}/7`, { method: 'DELETE', headers })).status, 204);
  assert.equal((await fetch(`${url}/7`, { method: 'DELETE', headers })).status, 409);
  assert.equal((await fetch(url)).status, 401);
  assert.equal((await fetch(url, { method: 'POST', headers })).status, 405);
});
