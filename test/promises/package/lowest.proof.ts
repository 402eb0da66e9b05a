import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { issueKey, programIn, type RunningServer, remaining, startServer } from '../../program/support/program.js';
import { listenOnFreePort } from '../../support/listen.js';
import { missingEngine, startPostgres } from '../../support/postgres-server.js';
import { PATIENT, startRedis, startRedisCluster, skip as withoutRedis } from '../../support/redis-server.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';

// The program with the lowest version of each optional package that `peerDependencies` admits.

const modules = join(root, 'node_modules');
const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

/** Returns the reason to skip a test that needs the lowest version of a package, or `false`. */
const without = (name: string) =>
  !existsSync(join(modules, `${name}-lowest`)) &&
  `${name}-lowest is not installed: npm ci --workspaces --include-workspace-root`;

/** Installs the program beside the lowest version of a package. Returns the program's main file. */
function install(name: string): string {
  const folder = join(temporaryDirectory(), 'node_modules');
  const program = join(folder, 'store-orders');
  mkdirSync(program, { recursive: true });
  for (const part of ['dist', 'package.json']) cpSync(join(root, part), join(program, part), { recursive: true });
  const others = readdirSync(modules).filter((other) => ![name, 'store-orders'].includes(other));
  for (const other of others) symlinkSync(join(modules, other), join(folder, other));
  symlinkSync(join(modules, `${name}-lowest`), join(folder, name));
  return join(program, 'dist/program/main.js');
}

for (const name of ['ioredis', 'pg', 'prom-client']) {
  test(`the tests use the lowest ${name} that the package admits`, { skip: without(name) }, () => {
    const range: string = read(join(root, 'package.json')).peerDependencies[name];
    assert.equal(read(join(modules, `${name}-lowest/package.json`)).version, /\d+\.\d+\.\d+/.exec(range)?.[0]);
  });
}

const withoutIoredis = without('ioredis') || withoutRedis;
const HOST = '127.0.0.1';

async function stateOf(server: RunningServer): Promise<unknown> {
  const response = await fetch(new URL('/readyz', server.url));
  return JSON.parse(await response.text()).backends.quotas;
}

async function assertCounts(server: RunningServer): Promise<void> {
  const { key } = await issueKey(server.cwd, 'enterprise', '--per-day', '9');
  const left = [];
  for (let n = 0; n < 3; n++) left.push(await remaining(server, key));
  assert.deepEqual([left, await stateOf(server)], [['8', '7', '6'], 'ok']);
}

test('with the lowest ioredis, a server counts in Redis, and replaces a connection that is dead but not closed', {
  skip: withoutIoredis,
}, async (t) => {
  const redis = await startRedis();
  const links: Socket[] = [];
  const network = createServer((socket) => {
    const link = connect(redis.port, HOST);
    links.push(socket, link);
    for (const side of [socket, link]) side.on('error', () => {});
    socket.pipe(link).pipe(socket);
  });
  const url = `redis://${HOST}:${await listenOnFreePort(network)}`;
  const server = await startServer(t, { main: install('ioredis'), env: PATIENT }, '--redis-url', url);
  t.after(async () => {
    for (const link of links) link.destroy();
    network.close();
    await redis.stop();
  });
  await assertCounts(server);
  for (const link of links) link.unpipe();
  const before = links.length;
  const { key } = await issueKey(server.cwd, 'pro');
  await until(async () => {
    await server.get(key);
    return links.length > before;
  });
  await until(async () => (await stateOf(server)) === 'ok');
  await assertCounts(server);
});

test('with the lowest ioredis, a server counts in a cluster', { skip: withoutIoredis }, async (t) => {
  const cluster = await startRedisCluster();
  const urls = cluster.map(({ port }) => `redis://${HOST}:${port}`).join(',');
  const server = await startServer(t, { main: install('ioredis'), env: PATIENT }, '--redis-url', urls);
  t.after(() => Promise.all(cluster.map((node) => node.stop())));
  for (let n = 0; n < 4; n++) await assertCounts(server);
});

test('with the lowest prom-client, a server publishes its metrics', { skip: without('prom-client') }, async (t) => {
  const server = await startServer(t, { main: install('prom-client') }, '--metrics-port', '0');
  const { key } = await issueKey(server.cwd, 'pro');
  assert.equal((await server.get(key)).status, 200);
  await until(async () => /^store_orders_requests_total\{.*status="200".*\} 1$/m.test(await server.metrics()));
});

test('with the lowest pg, a server and its commands work, and recover from a crash of PostgreSQL', {
  skip: without('pg') || missingEngine,
}, async (t) => {
  const engine = await startPostgres();
  t.after(engine.stop);
  const options = { main: install('pg'), env: { DATABASE_URL: await createDatabase(engine) } };
  const { output, json, cwd } = programIn(options);
  await output('orders import -', '{"id":1}\n{"id":2}');
  const { key } = Object(await json('keys create --plan business'));
  const server = await startServer(t, { ...options, cwd }, '--redis-url', 'redis://127.0.0.1:1');
  const headers = { authorization: `Bearer ${key}` };
  const request = async (path: string, method = 'GET') => {
    const response = await fetch(new URL(path, server.url), { method, headers });
    return [response.status, await response.text()];
  };
  assert.deepEqual(await request('/v1/store/orders'), [200, '[{"id":1},{"id":2}]']);
  assert.deepEqual(await request('/v1/store/orders/1', 'DELETE'), [204, '']);
  await engine.crash();
  assert.equal((await request('/v1/store/orders/2', 'DELETE'))[0], 503);
  await engine.start();
  await until(async () => (await request('/v1/store/orders/2', 'DELETE'))[0] === 204);
  assert.equal(await output('orders export'), '{"id":1,"status":"cancelled"}\n{"id":2,"status":"cancelled"}\n');
});
