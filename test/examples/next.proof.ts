import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { withoutHosts } from '../support/installed.js';
import { root } from '../support/root.js';
import { temporaryDirectory } from '../support/temporary-file.js';

const tools = join(root, 'test/next-tools/node_modules');
const skip = withoutHosts || (!existsSync(tools) && 'Next.js is not installed: npm ci --prefix test/next-tools');

const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };

/** Creates an application with the example as its only route. Its list is long enough to compress. */
async function createApplication(): Promise<string> {
  const folder = temporaryDirectory();
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(tools)) if (!name.startsWith('.')) symlinkSync(join(tools, name), join(modules, name));
  symlinkSync(root, join(modules, 'store-orders'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const { build } = await import('esbuild');
  await build({
    entryPoints: [join(root, 'examples/next-route.ts')],
    outfile: join(folder, 'app/v1/store/orders/[[...id]]/route.js'),
    bundle: true,
    packages: 'external',
    format: 'esm',
    plugins: [
      {
        name: 'many orders',
        setup: ({ onResolve }) =>
          onResolve({ filter: /orders\.ts$/ }, () => ({ path: join(root, 'test/examples/support/many-orders.ts') })),
      },
    ],
  });
  return folder;
}

test('examples/next-route.ts serves a list in every coding, and cancels, after next build and next start', {
  skip,
}, async (t) => {
  const cwd = await createApplication();
  const next = join(tools, 'next/dist/bin/next');
  await promisify(execFile)(process.execPath, [next, 'build', '--webpack'], { cwd, env });
  const server = spawn(process.execPath, [next, 'start', '--port', '0', '--hostname', '127.0.0.1'], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(async () => {
    server.kill();
    await once(server, 'exit');
  });
  let origin: string | undefined;
  for await (const line of createInterface(server.stdout)) {
    origin ??= /Local: +(http:\/\/\S+)/.exec(line)?.[1];
    if (line.includes('Ready')) break;
  }
  const url = `${origin}/v1/store/orders`;
  const headers = { Authorization: 'Bearer open-sesame' };
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
