import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { issueKey, type RunningServer, remaining, startServer } from '../../program/support/program.js';
import { listenOnFreePort } from '../../support/listen.js';
import { startRedis, startRedisCluster, skip as withoutRedis } from '../../support/redis-server.js';
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
  for (const needed of ['lru-cache', 'valibot', 'libsql']) symlinkSync(join(modules, needed), join(folder, needed));
  symlinkSync(join(modules, `${name}-lowest`), join(folder, name));
  return join(program, 'dist/program/main.js');
}

for (const name of ['ioredis', 'prom-client']) {
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
  const server = await startServer(t, { main: install('ioredis') }, '--redis-url', url);
  t.after(async () => {
    for (const link of links) link.destroy();
    network.close();
    await redis.stop();
  });
  await assertCounts(server);
  for (const link of links) link.unpipe();
  const { key } = await issueKey(server.cwd, 'pro');
  await until(async () => {
    await server.get(key);
    return (await stateOf(server)) === 'degraded';
  });
  await until(async () => (await stateOf(server)) === 'ok');
  await assertCounts(server);
});

test('with the lowest ioredis, a server counts in a cluster', { skip: withoutIoredis }, async (t) => {
  const cluster = await startRedisCluster();
  const urls = cluster.map(({ port }) => `redis://${HOST}:${port}`).join(',');
  const server = await startServer(t, { main: install('ioredis') }, '--redis-url', urls);
  t.after(() => Promise.all(cluster.map((node) => node.stop())));
  for (let n = 0; n < 4; n++) await assertCounts(server);
});

test('with the lowest prom-client, a server publishes its metrics', { skip: without('prom-client') }, async (t) => {
  const server = await startServer(t, { main: install('prom-client') }, '--metrics-port', '0');
  const { key } = await issueKey(server.cwd, 'pro');
  assert.equal((await server.get(key)).status, 200);
  await until(async () => /^store_orders_requests_total\{.*status="200".*\} 1$/m.test(await server.metrics()));
});
