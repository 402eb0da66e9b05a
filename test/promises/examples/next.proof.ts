import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../support/outer-environment.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { examples, headers, pathOf, serve } from './support/start.js';

const tools = join(root, 'test/next-tools/node_modules');
const skip = !existsSync(tools) && 'Next.js is not installed: npm ci --ignore-scripts --prefix test/next-tools';

process.env['NEXT_TELEMETRY_DISABLED'] = '1';

/** Creates an application with both examples as its only routes. Their list is long enough to compress. */
function createApplication(): string {
  const folder = temporaryDirectory();
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(tools)) if (!name.startsWith('.')) symlinkSync(join(tools, name), join(modules, name));
  symlinkSync(root, join(modules, 'store-orders'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  for (const file of ['next-route.ts', 'next-pages.ts']) {
    const source = readFileSync(pathOf(file), 'utf8');
    const path = join(folder, /save this file as\W+(.+\.ts)`/.exec(source)?.[1] ?? assert.fail(file));
    mkdirSync(dirname(path), { recursive: true });
    const long = source.replace(/\[\{ id: 1, .+?\]/, 'Array.from({ length: 1_000 }, (_, id) => ({ id }))');
    assert.notEqual(long, source);
    writeFileSync(path, long);
  }
  return folder;
}

test('the examples for Next.js pass next build with its default settings, and serve a list in every coding, and cancels', {
  skip,
}, async (t) => {
  const cwd = createApplication();
  const next = join(tools, 'next/dist/bin/next');
  run(process.execPath, [next, 'build', '--webpack'], cwd);
  const start = [process.execPath, next, 'start', '--port', '0', '--hostname', '127.0.0.1'];
  const origin = await serve(t, start, { cwd });
  for (const url of [`${origin}/v1/store/orders`, `${origin}/api/v1/store/orders`]) {
    for (const coding of ['identity', 'gzip', 'br', 'gzip, br']) {
      const response = await fetch(url, { headers: { ...headers, 'Accept-Encoding': coding } });
      assert.equal(response.status, 200);
      const orders: unknown = JSON.parse(await response.text());
      assert.ok(Array.isArray(orders) && orders.length === 1_000, `${url} ${coding}`);
    }
    // Content that the service does not read, and Next.js must not refuse.
    const cancel = { method: 'DELETE', headers: { ...headers, 'Content-Type': 'application/json' }, body: '{' };
    assert.equal((await fetch(`${url}/7`, cancel)).status, 204, url);
    assert.equal((await fetch(`${url}/7`, { method: 'DELETE', headers })).status, 409, url);
    assert.equal((await fetch(url, { method: 'POST', headers })).status, 405, url);
    for (const remaining of ['599', '598']) {
      const stranger = await fetch(url, { headers: { 'X-Real-IP': '192.0.2.1' } });
      assert.deepEqual([stranger.status, stranger.headers.get('X-RateLimit-Remaining')], [401, remaining], url);
    }
  }
});

test('with the setting of the guide, a route of Next.js uses an order store in a SQLite file', { skip }, async (t) => {
  const cwd = temporaryDirectory();
  const modules = join(cwd, 'node_modules');
  const installed = join(modules, 'store-orders');
  mkdirSync(installed, { recursive: true });
  for (const name of readdirSync(tools)) if (!name.startsWith('.')) symlinkSync(join(tools, name), join(modules, name));
  for (const part of ['dist', 'package.json']) cpSync(join(root, part), join(installed, part), { recursive: true });
  for (const name of ['lru-cache', 'valibot', 'libsql']) {
    if (!existsSync(join(modules, name))) symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  const guide = readFileSync(new URL('README.md', examples), 'utf8');
  const [, setting = ''] = /^\| Next\.js \| `(.+?)` \|$/m.exec(guide) ?? [];
  writeFileSync(join(cwd, 'package.json'), '{ "private": true, "type": "module" }');
  writeFileSync(join(cwd, 'next.config.mjs'), `export default { ${setting} };`);
  mkdirSync(join(cwd, 'app/cancel'), { recursive: true });
  writeFileSync(
    join(cwd, 'app/cancel/route.js'),
    `import { openSqliteOrderStore } from 'store-orders/sqlite';
    export const dynamic = 'force-dynamic';
    export async function GET() {
      const store = openSqliteOrderStore('orders.db');
      await store.put([{ id: 1 }], { replace: true });
      const outcome = await store.cancel(1n);
      await store.close();
      return new Response(outcome);
    }`,
  );
  const next = join(tools, 'next/dist/bin/next');
  run(process.execPath, [next, 'build', '--webpack'], cwd);
  const start = [process.execPath, next, 'start', '--port', '0', '--hostname', '127.0.0.1'];
  const response = await fetch(`${await serve(t, start, { cwd })}/cancel`);
  assert.equal(await response.text(), 'cancelled');
});
