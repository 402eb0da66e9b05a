import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { certificate } from '../../http/mounts/support/certificate.js';
import { freePort } from '../../support/listen.js';
import { PATIENT, skip, startRedisCluster } from '../../support/redis-server.js';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { issueKey, programIn, remaining, startServer } from '../support/program.js';
import { quotasOf, redisFor } from './support/redis.js';

const HOST = '127.0.0.1';
const PASSWORD = 's3cr3t/@pass';
const ENCODED = encodeURIComponent(PASSWORD);

test('while Redis is down, a server starts and counts by itself, and a command prints the reason; once Redis is up, the server counts in Redis', {
  skip,
}, async (t) => {
  const port = await freePort();
  const redisUrl = `redis://${HOST}:${port}`;
  const env = { REDIS_URL: redisUrl, ...PATIENT };
  const server = await startServer(t, { env });
  const { cwd } = server;
  assert.equal(await quotasOf(server), 'degraded');
  const { time, ...lost } = server.log()[0] ?? {};
  const error = `connect ECONNREFUSED ${HOST}:${port}`;
  assert.deepEqual(lost, {
    level: 'error',
    event: 'quotas counted in this process only, where Redis fails',
    redis: redisUrl,
    error,
  });
  const { key, id } = await issueKey(cwd, 'enterprise', '--per-day', '2');
  assert.equal(await remaining(server, key), '1');
  assert.equal(await programIn({ cwd, env }).failure(`quota reset ${id}`), `${redisUrl}: ${error}`);

  const redis = await redisFor(t, [], port);
  await until(async () => (await quotasOf(server)) === 'ok');
  assert.equal(await remaining(server, key), '1', 'requests sent while Redis was down are not charged');
  assert.equal(await remaining(server, key), '0');
  assert.equal((await server.get(key)).status, 429);

  await redis.stop();
  await until(async () => (await quotasOf(server)) === 'degraded');
  const other = await issueKey(cwd, 'enterprise', '--per-day', '2');
  for (let n = 0; n < 5; n++) assert.equal((await server.get(other.key)).status, n < 2 ? 200 : 429);
  await redisFor(t, [], port);
  await until(async () => (await quotasOf(server)) === 'ok');
  await until(() => server.events().length === 5);
  const modes = server
    .log()
    .flatMap(({ event, redis }) => (`${event}`.startsWith('quotas') ? [`${event} ${redis}`] : []));
  const [local, shared] = [
    `quotas counted in this process only, where Redis fails ${redisUrl}`,
    `quotas counted in Redis ${redisUrl}`,
  ];
  assert.deepEqual(modes, [local, shared, local, shared]);
  assert.equal(await server.stop('SIGTERM'), 0);
});

test('a user of Redis needs only the rights that the README lists, also after a pause of the server; the log says that rights are missing', {
  skip,
}, async (t) => {
  const text = readFileSync(join(root, 'src/program/README.md'), 'utf8');
  const rights = /`(~store-orders:\S+ [^`]+)`/.exec(text)?.[1]?.split(' ') ?? [];
  const port = await freePort();
  const server = await startServer(t, { env: { REDIS_URL: `redis://shop:${ENCODED}@${HOST}:${port}`, ...PATIENT } });
  const { client, child } = await redisFor(t, [], port);
  await client.acl('SETUSER', 'shop', 'on', `>${PASSWORD}`, '+info', '+evalsha', '~store-orders:*');
  const reasons = () => server.log().map(({ error }) => String(error));
  await until(async () => (await quotasOf(server)) === 'degraded' && /no permissions/.test(reasons().join()));

  await client.acl('SETUSER', 'shop', 'reset', 'on', `>${PASSWORD}`, ...rights);
  await client.acl('LOG', 'RESET');
  await until(async () => (await quotasOf(server)) === 'ok');
  const { key, id } = await issueKey(server.cwd, 'enterprise', '--per-day', '2');
  const statuses = async () => {
    const replies = [];
    for (let n = 0; n < 3; n++) replies.push((await server.get(key)).status);
    return replies;
  };
  assert.deepEqual(await statuses(), [200, 200, 429]);
  const admin = programIn({ cwd: server.cwd, env: { REDIS_URL: `redis://shop:${ENCODED}@${HOST}:${port}` } });
  for (const command of [`ban set ${id} --for 1h`, `ban lift ${id}`, `quota reset ${id}`]) await admin.output(command);
  child.kill('SIGSTOP');
  await until(async () => {
    await server.get(key);
    return (await quotasOf(server)) === 'degraded';
  });
  child.kill('SIGCONT');
  await until(async () => (await quotasOf(server)) === 'ok');
  assert.deepEqual(await client.acl('LOG'), []);
});

test('servers with different prefixes count apart in one database, and one warning says that Redis may evict records', {
  skip,
}, async (t) => {
  const { port, client } = await redisFor(t, ['--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru']);
  const { cwd, output } = programIn();
  const { key, id } = await issueKey(cwd, 'enterprise', '--per-day', '9');
  const url = (prefix: string) => `valkey://${HOST}:${port}?family=0&prefix=${prefix}`;
  for (const prefix of ['live:', 'staging:']) {
    const server = await startServer(t, { cwd, env: PATIENT }, '--redis-url', url(prefix));
    assert.equal(await remaining(server, key), '8');
    // The tests that count need a server that waits for such a reply.
    await client.client('PAUSE', 400);
    assert.equal(await remaining(server, key), '7');
    const policies = () => server.log().flatMap(({ level, policy }) => (policy === undefined ? [] : [level, policy]));
    await until(() => policies().length > 0);
    assert.deepEqual(policies(), ['error', 'allkeys-lru']);
    await server.stop('SIGTERM');
  }
  await output(`quota reset ${id} --redis-url ${url('live:')}`);
  assert.match(String(await client.keys('*')), /^staging:[^,]*$/);
});

test('a server needs several URLs for a Redis cluster; with only one URL, it logs an error', { skip }, async (t) => {
  const { cwd, output } = programIn();
  const cluster = await startRedisCluster();
  t.after(() => Promise.all(cluster.map((node) => node.stop())));
  const urls = cluster.map(({ port }) => `redis://${HOST}:${port}`);
  const keys = await Promise.all(Array.from({ length: 10 }, () => issueKey(cwd, 'enterprise', '--per-day', '5')));

  const server = await startServer(t, { cwd, env: PATIENT }, '--redis-url', urls.slice(0, 2).join(','));
  for (const { key } of keys) assert.equal(await remaining(server, key), '4');
  assert.equal(await quotasOf(server), 'ok');
  assert.deepEqual(server.events(), ['listening']);
  const [first] = keys;
  await output(`quota reset ${first?.id} --redis-url ${urls.join(',')}`);
  assert.equal(await remaining(server, first?.key ?? ''), '4');
  await server.stop('SIGTERM');

  const alone = await startServer(t, { cwd }, '--redis-url', urls[0] ?? '');
  for (const { key } of keys) assert.equal((await alone.get(key)).status, 200);
  const LOCAL = 'quotas counted in this process only, where Redis fails';
  // The node has about a third of the keys, so few requests may fail at first.
  await until(async () => {
    for (const { key } of keys) await alone.get(key);
    return alone.events().includes(LOCAL);
  });
  const failure = alone.log().find(({ event }) => event === LOCAL);
  const reason = 'this server is part of a cluster; name several of its nodes, or one name twice, separated by commas';
  assert.equal(failure?.['error'], reason);
});

test('a rediss: URL requires TLS, and the certificate of the Redis server is checked', { skip }, async (t) => {
  const cwd = temporaryDirectory();
  const [cert, key] = [join(cwd, 'cert.pem'), join(cwd, 'key.pem')];
  writeFileSync(cert, certificate.cert);
  writeFileSync(key, certificate.key);
  const tlsPort = await freePort();
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
  await redisFor(t, ['--tls-port', `${tlsPort}`, ...files, '--tls-auth-clients', 'no']);
  const options = { cwd, env: { REDIS_URL: `rediss://localhost:${tlsPort}` } };

  const server = await startServer(t, { ...options, env: { ...options.env, NODE_EXTRA_CA_CERTS: cert } });
  assert.equal(await quotasOf(server), 'ok');
  await server.stop('SIGTERM');
  const doubtful = await startServer(t, options);
  assert.equal(await quotasOf(doubtful), 'degraded');
  assert.match(String(doubtful.log()[0]?.['error']), /certificate/);
});
