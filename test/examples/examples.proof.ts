import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { gateway } from '../http/mounts/support/emulations.js';
import { overHttp2 } from '../http/mounts/support/tls-fetch.js';
import { withoutHosts } from '../support/installed.js';
import { sampled } from '../support/sampled.js';
import { examples, headers, serveExample, startExample } from './support/start.js';

const files = readdirSync(examples).filter((name) => name.endsWith('.ts'));
const tests = files.filter((name) => name.endsWith('.test.ts'));

/** Examples that are not servers, or need a runtime or backend that is not always installed. */
const MODULES = [
  'aws-lambda.ts',
  'bun.ts',
  'deno.ts',
  'exact-client.ts',
  'exact-fetch.ts',
  'next-route.ts',
  'orders.ts',
  'postgres.ts',
  'redis.ts',
  'workers.ts',
];
const servers = files.filter((name) => !tests.includes(name) && !MODULES.includes(name));

type Fetch = (request: Request) => Response | Promise<Response>;

async function assertLists(origin: string, fetch: Fetch): Promise<void> {
  const list = await fetch(new Request(`${origin}/v1/store/orders`, { headers }));
  assert.match(await list.text(), /"id":9007199254740993,/);
}

async function assertServesOrders(origin: string, fetch: Fetch): Promise<void> {
  await assertLists(origin, fetch);
  const path = `${origin}/v1/store/orders`;
  for (const [id, status] of [
    ['9007199254740992', 404],
    ['9007199254740993', 204],
    ['9007199254740993', 409],
  ]) {
    const response = await fetch(new Request(`${path}/${id}`, { method: 'DELETE', headers }));
    assert.equal(response.status, status, `DELETE ${id}`);
    assert.equal(response.headers.get('X-RateLimit-Limit'), '60');
  }
}

async function assertServesBoth(origin: string, fetch: Fetch = globalThis.fetch): Promise<void> {
  assert.equal(await (await fetch(new Request(`${origin}/`))).text(), 'the host\n');
  assert.equal((await fetch(new Request(`${origin}/elsewhere`))).status, 404);
  await assertServesOrders(origin, fetch);
}

suite('every example works', { concurrency: 2, skip: withoutHosts }, () => {
  for (const file of tests) {
    test(`the tests in examples/${file} pass`, async () => {
      const child = startExample(file, [process.execPath, '--import', 'tsx', '--test']);
      child.stdout.resume();
      child.stderr.resume();
      const [status] = await once(child, 'exit');
      assert.equal(status, 0);
    });
  }

  for (const file of sampled(servers)) {
    test(`examples/${file} serves both the orders and its own routes`, async (t) => {
      const origin = await serveExample(t, file);
      if (file !== 'http2.ts') return assertServesBoth(origin);
      const { fetch, close } = overHttp2({ origin, close: async () => {} });
      t.after(close);
      await assertServesBoth(origin, fetch);
    });
  }
});

test('examples/guarded.ts charges requests for animals and for orders to one quota, and announces when a route will be removed', async (t) => {
  const origin = await serveExample(t, 'guarded.ts');
  const pet = await fetch(`${origin}/v1/pets/7`, { headers });
  assert.deepEqual(await pet.json(), { id: 7, name: 'Rex', seenBy: 'customer-1' });
  assert.equal(pet.headers.get('Deprecation'), '@1780272000');
  assert.equal(pet.headers.get('Sunset'), 'Tue, 01 Jun 2027 00:00:00 GMT');
  assert.equal(pet.headers.get('X-RateLimit-Remaining'), '59');
  const list = await fetch(`${origin}/v1/store/orders`, { headers });
  assert.equal(list.headers.get('X-RateLimit-Remaining'), '58');
  assert.equal((await fetch(`${origin}/v1/pets/7`)).status, 401);
});

test('examples/bun.ts and examples/deno.ts export the handlers that their runtimes serve', async () => {
  const { default: bun } = await import('../../examples/bun.js');
  const { default: deno } = await import('../../examples/deno.js');
  const origin = 'http://orders.test';
  const unauthorized = new Request(`${origin}/v1/store/orders`);
  const server = { requestIP: () => ({ address: '192.0.2.1' }) };
  const info = { remoteAddr: { hostname: '192.0.2.2' } };
  assert.equal(await (await bun.fetch(new Request(`${origin}/`), server)).text(), 'the host\n');
  assert.equal((await deno.fetch(new Request(`${origin}/elsewhere`), info)).status, 404);
  for (const response of [await bun.fetch(unauthorized, server), await deno.fetch(unauthorized, info)]) {
    assert.equal(response.headers.get('X-RateLimit-Remaining'), '599', 'each client address has its own limit');
  }
  // This test must not cancel an order. It uses the same orders as examples/aws-lambda.ts, and the
  // next test cancels one of them.
  await assertLists(origin, (request) => bun.fetch(request, server));
  await assertLists(origin, (request) => deno.fetch(request, info));
});

test('examples/aws-lambda.ts exports the handler that AWS calls with an event', async () => {
  const { handler } = await import('../../examples/aws-lambda.js');
  const call = gateway(handler);
  const origin = 'http://orders.test';
  assert.equal(await (await call(new Request(`${origin}/`))).text(), 'the host\n');
  assert.equal((await call(new Request(`${origin}/elsewhere`))).status, 404);
  await assertServesOrders(origin, call);
});

for (const [file, ...command] of [
  ['bun.ts', 'bun'],
  ['deno.ts', 'deno', 'serve', '--allow-env', '--host', '127.0.0.1', '--port', '0'],
] as const) {
  const [runtime] = command;
  const isMissing = spawnSync(runtime, ['--version']).error !== undefined;
  test(
    `examples/${file} serves in ${runtime}`,
    {
      skip: isMissing && `${runtime} is not in the PATH: npm install --global ${runtime}`,
    },
    async (t) => assertServesBoth(await serveExample(t, file, command)),
  );
}

test('the examples’ README lists every example', () => {
  const guide = readFileSync(new URL('README.md', examples), 'utf8');
  for (const file of files) assert.ok(guide.includes(`(${file})`), file);
});
