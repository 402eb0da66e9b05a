import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { gateway } from '../../http/mounts/support/emulations.js';
import { overHttp2 } from '../../http/mounts/support/tls-fetch.js';
import { withoutHosts } from '../../support/installed.js';
import { outerEnvironment } from '../../support/outer-environment.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { PATIENT, startRedis, skip as withoutRedis } from '../../support/redis-server.js';
import { places } from './support/places.js';
import { commandOf, examples, headers, serveExample } from './support/start.js';

const files = readdirSync(examples).filter((name) => name.endsWith('.ts'));
const tests = files.filter((name) => name.endsWith('.test.ts'));

/** Examples that are not servers, or need a runtime or backend that is not always installed. */
const MODULES = [
  'aws-lambda.ts',
  'bun.ts',
  'deno.ts',
  'exact-client.ts',
  'exact-fetch.ts',
  'mock-server.ts',
  'next-pages.ts',
  'next-route.ts',
  'orders.ts',
  'postgres-revision.ts',
  'postgres.ts',
  'redis.ts',
  'workers.ts',
];
const servers = files.filter((name) => !tests.includes(name) && !MODULES.includes(name));

type Fetch = (request: Request) => Response | Promise<Response>;

async function assertLists(origin: string, orders: RegExp, fetch: Fetch = globalThis.fetch): Promise<void> {
  const list = await fetch(new Request(`${origin}/v1/store/orders`, { headers }));
  assert.match(await list.text(), orders);
}

async function assertCancels(
  origin: string,
  rows: readonly (readonly [id: string, status: number])[],
  fetch: Fetch = globalThis.fetch,
): Promise<void> {
  for (const [id, status] of rows) {
    const response = await fetch(new Request(`${origin}/v1/store/orders/${id}`, { method: 'DELETE', headers }));
    assert.equal(response.status, status, `DELETE ${id}`);
    assert.equal(response.headers.get('X-RateLimit-Limit'), '60');
  }
}

/** Asserts that a server serves the orders of `orders.ts` and the routes of its host. */
async function assertServesBoth(origin: string, fetch: Fetch = globalThis.fetch): Promise<void> {
  assert.equal(await (await fetch(new Request(`${origin}/`))).text(), 'the host\n');
  assert.equal((await fetch(new Request(`${origin}/elsewhere`))).status, 404);
  await assertLists(origin, /"id":9007199254740993,/, fetch);
  const outcomes = [
    ['9007199254740992', 404],
    ['9007199254740993', 204],
    ['9007199254740993', 409],
  ] as const;
  await assertCancels(origin, outcomes, fetch);
}

for (const [place, create] of Object.entries(places)) {
  suite(`in ${place}, prepared as examples/README.md says`, { concurrency: 2, skip: withoutHosts }, () => {
    let cwd: string;
    before(() => {
      cwd = create();
    });

    for (const file of tests) {
      test(`the tests in examples/${file} pass`, async () => {
        await promisify(execFile)('sh', ['-c', commandOf(file) ?? ''], { cwd, env: outerEnvironment() });
      });
    }

    for (const file of servers) {
      test(`examples/${file} serves both the orders and its own routes`, async (t) => {
        const origin = await serveExample(t, file, { cwd });
        if (file !== 'http2.ts') return assertServesBoth(origin);
        const { fetch, close } = overHttp2({ origin, close: async () => {} });
        t.after(close);
        await assertServesBoth(origin, fetch);
      });
    }
  });
}

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
  const quota = await fetch(`${origin}/v1/quota`, { headers });
  const [{ resetAt, ...minute }, day] = JSON.parse(await quota.text());
  assert.deepEqual(minute, { name: 'minute', quota: 60, remaining: 57 });
  assert.equal(Math.ceil(Date.parse(resetAt) / 1_000), Number(quota.headers.get('X-RateLimit-Reset')));
  assert.equal(day.remaining, 997);
});

test('examples/owners.ts shows and cancels only the orders of the key that was sent, also in pipelined requests', async (t) => {
  const origin = await serveExample(t, 'owners.ts');
  const { port, host } = new URL(origin);
  const ids = { 'open-sesame': '9007199254740993', 'open-barley': '9007199254740995' };
  const keys = Object.keys(ids);
  const socket = connect(Number(port), '127.0.0.1');
  const head = (method: string, path: string, key: string, fields = '') =>
    `${method} /v1/store/orders${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n${fields}\r\n`;
  // Each key lists its orders, and tries to cancel that of the other key.
  const requests = [...keys, ...keys].map((key) => head('GET', '', key));
  const cancels = Object.values(ids).map((id, index) => head('DELETE', `/${id}`, keys[1 - index] ?? ''));
  socket.write([...requests, ...cancels, head('GET', '', 'open-barley', 'Connection: close\r\n')].join(''));
  const received = await text(socket);
  const shown = [...received.matchAll(/^\[\{"id":(\d+),[^[]*\]/gm)].map(([, id]) => id);
  const [first, second] = Object.values(ids);
  assert.deepEqual(shown, [first, second, first, second, second]);
  assert.equal(received.match(/HTTP\/1\.1 404 /g)?.length, 2);
  await assertCancels(origin, [
    [ids['open-barley'], 404],
    [ids['open-sesame'], 204],
    [ids['open-sesame'], 409],
  ]);
});

test('examples/mock-server.ts lets pages of any origin read it, takes a while, and fails every tenth time', async (t) => {
  const origin = await serveExample(t, 'mock-server.ts');
  const startMs = performance.now();
  const responses = await Promise.all(
    Array.from({ length: 10 }, () =>
      fetch(`${origin}/v1/store/orders`, { headers: { ...headers, Origin: 'https://shop.example' } }),
    ),
  );
  assert.ok(performance.now() - startMs >= 290);
  assert.deepEqual(responses.map(({ status }) => status).sort(), [...Array(9).fill(200), 503]);
  for (const response of responses) assert.equal(response.headers.get('Access-Control-Allow-Origin'), '*');
  assert.ok(responses.find(({ status }) => status === 503)?.headers.has('Retry-After'));
});

test('examples/postgres.ts lists and cancels the orders in its own table', { skip: missingEngine }, async (t) => {
  const engine = await startEngine();
  const origin = await serveExample(t, 'postgres.ts', { variables: { DATABASE_URL: engine.url } });
  await assertLists(
    origin,
    /^\[{"id":1,"petId":12,"quantity":1,"shipDate":"2026-08-01T00:00:00Z"},{"id":9007199254740993,"petId":7,"quantity":2}]$/,
  );
  const tagOf = async () => (await fetch(`${origin}/v1/store/orders`, { headers })).headers.get('ETag');
  const tag = await tagOf();
  await assertCancels(origin, [
    ['9007199254740992', 404],
    ['9007199254740993', 409],
    ['1', 204],
    ['1', 409],
  ]);
  assert.ok(tag && tag === (await tagOf()));
  const { rows } = await engine.pool({ options: '' }).query('SELECT state FROM purchases WHERE number = 1');
  assert.deepEqual(rows, [{ state: 'called off' }]);
});

test('examples/redis.ts: two processes share the quota of a key', { skip: withoutRedis }, async (t) => {
  const server = await startRedis();
  t.after(() => server.stop());
  const place = { variables: { REDIS_URL: `redis://127.0.0.1:${server.port}`, ...PATIENT } };
  const origins = [await serveExample(t, 'redis.ts', place), await serveExample(t, 'redis.ts', place)];
  const remaining: unknown[] = [];
  for (const origin of [...origins, ...origins]) {
    const response = await fetch(`${origin}/v1/store/orders`, { headers });
    remaining.push(response.headers.get('X-RateLimit-Remaining'));
  }
  assert.deepEqual(remaining, ['59', '58', '57', '56']);
});

test('examples/bun.ts and examples/deno.ts limit each client by the address that their runtime reports', async () => {
  const { default: bun } = await import('../../../examples/bun.js');
  const { default: deno } = await import('../../../examples/deno.js');
  const unauthorized = new Request('http://orders.test/v1/store/orders');
  for (const response of [
    await bun.fetch(unauthorized, { requestIP: () => ({ address: '192.0.2.1' }) }),
    await deno.fetch(unauthorized, { remoteAddr: { hostname: '192.0.2.2' } }),
  ]) {
    assert.equal(response.headers.get('X-RateLimit-Remaining'), '599');
  }
});

test('examples/aws-lambda.ts exports the handler that AWS calls with an event', async () => {
  const { handler } = await import('../../../examples/aws-lambda.js');
  await assertServesBoth('http://orders.test', gateway(handler));
});

for (const runtime of ['bun', 'deno']) {
  const isMissing = spawnSync(runtime, ['--version']).error !== undefined;
  const skip = isMissing && `${runtime} is not in the PATH: npm install --global ${runtime}`;
  test(`examples/${runtime}.ts serves in ${runtime}`, { skip }, async (t) => {
    await assertServesBoth(await serveExample(t, `${runtime}.ts`));
  });
}

test('the examples’ README lists every example', () => {
  const guide = readFileSync(new URL('README.md', examples), 'utf8');
  for (const file of files) assert.ok(guide.includes(`(${file})`), file);
});
