import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mebibytes, peakBytes } from '../../support/memory.js';
import { attack } from './support/under-attack.js';

const HOST = fileURLToPath(new URL('support/attacked-host.ts', import.meta.url));
const SECONDS = Number(process.env['STORE_ORDERS_SECONDS'] ?? 4);

for (const name of ['nodeHandler with attach', 'koaMiddleware', 'fastifyPlugin']) {
  test(`a server with ${name} survives a thousand connections of pipelined requests with a heap of 256 MB`, async (t) => {
    const args = ['--max-old-space-size=256', '--import', 'tsx', HOST, name];
    const host = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => host.kill());
    const [line] = await once(host.stdout, 'data');
    const { port } = JSON.parse(String(line));
    const url = new URL(`http://127.0.0.1:${port}/v1/store/orders`);
    for (const kind of ['non-readers', 'without a key']) {
      const figures = await attack(kind, url, SECONDS, 1_000, '20');
      assert.equal((await fetch(url)).status, 401);
      t.diagnostic(`${kind}: ${mebibytes(peakBytes(host.pid))}; ${JSON.stringify(figures)}`);
    }
    assert.equal(host.exitCode, null);
  });
}
