import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const examples = new URL('../../examples/', import.meta.url);

/** Starts an example as its first lines say. The runner's own variables would make a nested test run report to it. */
function start(file: string, ...nodeOptions: string[]) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return spawn(process.execPath, ['--import', 'tsx', ...nodeOptions, fileURLToPath(new URL(file, examples))], {
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

for (const file of readdirSync(examples).filter((name) => name.endsWith('.test.ts'))) {
  test(`examples/${file} passes its own tests`, async () => {
    const child = start(file, '--test');
    child.stdout.resume();
    const [status] = await once(child, 'exit');
    assert.equal(status, 0);
  });
}

test('examples/node-http.ts serves the orders beside the routes of its host', async (t) => {
  const child = start('node-http.ts');
  t.after(() => child.kill());
  const [line] = await once(createInterface(child.stdout), 'line');
  const base = /http:\S+/.exec(line)?.[0];
  const headers = { Authorization: 'Bearer open-sesame' };

  assert.equal(await (await fetch(`${base}/`)).text(), 'the host\n');
  assert.equal((await fetch(`${base}/elsewhere`)).status, 404);
  const list = await (await fetch(`${base}/v1/store/orders`, { headers })).text();
  assert.match(list, /"id":9007199254740993,/);
  for (const [id, status] of [
    ['9007199254740992', 404],
    ['9007199254740993', 204],
    ['9007199254740993', 409],
  ]) {
    const response = await fetch(`${base}/v1/store/orders/${id}`, { method: 'DELETE', headers });
    assert.equal(response.status, status, `DELETE ${id}`);
  }
});
