import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createPlan, perDay } from 'store-orders/limiter';
import { createRedisLimiter, type RedisLimiter } from 'store-orders/redis';
import { connectRedis } from '../../../dist/program/quotas/redis-client.js';
import { listenOnFreePort } from '../../support/listen.js';
import { PATIENT, skip, startRedisCluster } from '../../support/redis-server.js';
import { until } from '../../support/until.js';
import { issueKey, programIn, remaining, startServer } from '../support/program.js';
import { quotasOf, redisFor } from './support/redis.js';

const HOST = '127.0.0.1';
const PASSWORD = 's3cr3t/@pass';
const ENCODED = encodeURIComponent(PASSWORD);

test('a server uses the user, the password and the database of a Redis URL, and never shows the password, even if it is wrong', {
  skip,
}, async (t) => {
  const { cwd, failure } = programIn();
  const { port, client } = await redisFor(t);
  await client.config('SET', 'requirepass', 'of the default user');
  await client.acl('SETUSER', 'shop', 'on', `>${PASSWORD}`, '~*', '+@all');
  const texts: string[] = [];

  const url = `redis://shop:${ENCODED}@${HOST}:${port}/3`;
  const right = await startServer(t, { cwd, env: PATIENT }, '--redis-url', url);
  assert.equal(right.log()[0]?.['redis'], `redis://${HOST}:${port}/3`);
  const { key, id } = await issueKey(cwd, 'enterprise', '--per-day', '9');
  assert.equal(await remaining(right, key), '8');
  assert.equal(await quotasOf(right), 'ok');
  await client.select(3);
  assert.equal(await client.dbsize(), 1);
  await right.stop('SIGTERM');
  texts.push(right.stdout(), right.stderr());

  const wrong = await startServer(t, { cwd, env: { REDIS_URL: `redis://me:${ENCODED}1@${HOST}:${port}` } });
  assert.equal(await quotasOf(wrong), 'degraded');
  assert.match(String(wrong.log()[0]?.['error']), /^WRONGPASS /);
  await wrong.stop('SIGTERM');
  texts.push(wrong.stdout(), wrong.stderr());

  const message = await failure(`quota show ${id} --redis-url redis://:x${ENCODED}@${HOST}:${port}`);
  assert.ok(message.startsWith(`redis://${HOST}:${port}: WRONGPASS`), message);
  texts.push(message);
  for (const text of texts) assert.doesNotMatch(text, /s3cr3t|pass[^w]/);
});

test('the program hides the password in an error of Redis; it connects again if the server cannot write, is silent or closes the connection, and sends no command twice', async (t) => {
  const received: string[] = [];
  let knowsAuth = false;
  const refusals = new Map([
    // Before version 7, a server puts the error of a script's command into a longer one.
    ['INCR', "ERR Error running script: @user_script:1: -READONLY You can't write against a read only replica."],
    ['DECR', "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."],
    ['APPEND', 'NOREPLICAS Not enough good replicas to write.'],
  ]);
  const fake = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (commands) => {
      for (const [, name = ''] of String(commands).matchAll(/^\*\d+\r\n\$\d+\r\n(\w+)\r$/gm)) {
        received.push(name);
        // Servers that do not know AUTH repeat the password in their error messages, and so do proxies.
        if (!knowsAuth) socket.write(`-ERR unknown command 'AUTH', with args beginning with: '${PASSWORD}'\r\n`);
        else if (refusals.has(name)) socket.write(`-${refusals.get(name)}\r\n`);
        else if (name === 'DEL') socket.destroy();
        else if (name !== 'TOUCH') socket.write('+OK\r\n');
      }
    });
  });
  t.after(() => fake.close());
  const nodes = [{ host: HOST, port: await listenOnFreePort(fake) }];
  const redis = await connectRedis({ nodes, name: '', db: 3, tls: false, password: PASSWORD });
  t.after(redis.close);
  await assert.rejects(redis.send(['PING'], ''), /with args beginning with: '\*\*\*'$/);
  knowsAuth = true;
  await until(redis.isConnected);
  const failing = [...refusals.keys(), 'DEL', 'TOUCH'];
  for (const command of failing) {
    assert.equal(await redis.send(['PING'], ''), 'OK');
    await assert.rejects(redis.send([command], ''));
    await until(() => !redis.isConnected());
    if (command === 'DEL') await assert.rejects(redis.send(['PING'], ''), /^Error: not connected$/);
    await until(redis.isConnected);
  }
  const sent = received.filter((name) => failing.includes(name));
  assert.deepEqual(sent, failing);
});

test('no other database is used than that of the URL, and the error says why it cannot be used; once it can, it is', {
  skip,
}, async (t) => {
  const { port, client } = await redisFor(t, ['--databases', '4']);
  await client.acl('SETUSER', 'shop', 'on', `>${PASSWORD}`, '~*', '+@all', '-select');
  const own = { nodes: [{ host: HOST, port }], name: '', tls: false };
  for (const { reason, ...address } of [
    { ...own, db: 4, reason: /^Error: ERR DB index is out of range$/ },
    { ...own, db: 3, username: 'shop', password: PASSWORD, reason: /^Error: NOPERM .* 'select' command$/ },
  ]) {
    const redis = await connectRedis(address);
    t.after(redis.close);
    for (let n = 0; n < 20; n++) {
      await assert.rejects(redis.send(['INCR', 'n'], 'n'), reason);
      await delay(10);
    }
    assert.equal(await client.dbsize(), 0);
    if (address.db === 4) continue;
    await client.acl('SETUSER', 'shop', '+select');
    await until(redis.isConnected);
    assert.equal(await redis.send(['INCR', 'n'], 'n'), 1);
    await client.select(3);
    assert.equal(await client.dbsize(), 1);
  }
});

test('the error of a cluster that cannot be used says why', { skip }, async (t) => {
  const { port, client } = await redisFor(t);
  const nodes = [1, 2].map(() => ({ host: HOST, port }));
  await client.config('SET', 'requirepass', 'another');
  for (const { reason, ...password } of [
    { password: PASSWORD, reason: /^Error: WRONGPASS / },
    { password: 'another', reason: /^Error: ERR This instance has cluster support disabled$/ },
  ]) {
    const redis = await connectRedis({ nodes, name: '', db: 0, tls: false, ...password });
    t.after(redis.close);
    await assert.rejects(redis.send(['PING'], ''), reason);
  }
});

test('when all nodes of a cluster stop under load, no request waits for the deadline, and none is charged when they are back', {
  skip,
}, async (t) => {
  const cluster = await startRedisCluster();
  t.after(() => Promise.all(cluster.map((node) => node.stop())));
  const nodes = cluster.map(({ port }) => ({ host: HOST, port }));
  const redis = await connectRedis({ nodes, db: 0, tls: false, name: 'cluster' });
  t.after(redis.close);
  const deadlineMs = 30_000;
  const limiter = createRedisLimiter({ send: redis.send, deadlineMs });
  const keys = Array.from({ length: 30 }, (_, n) => `customer-${n}`);
  const plan = createPlan({ name: 'plenty', policies: [perDay(1_000_000)], ban: false });
  let slowestMs = 0;
  async function takeAll(): Promise<void> {
    const startedMs = performance.now();
    await Promise.all(keys.map((key) => limiter.take(key, plan)));
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
  }
  await takeAll();
  assert.equal(limiter.mode, 'shared');

  // Each node keeps its slots in its folder, but no records.
  const folders = await Promise.all(cluster.map(({ client }) => client.config('GET', 'dir')));
  const buses = await Promise.all(cluster.map(({ client }) => client.config('GET', 'cluster-port')));
  let isDown = false;
  const load = (async () => {
    while (!isDown || limiter.mode === 'shared') await takeAll();
    await takeAll();
  })();
  await Promise.all(cluster.map((node) => node.stop()));
  isDown = true;
  await load;
  t.diagnostic(`slowest decision ${slowestMs.toFixed(0)} ms`);
  assert.ok(slowestMs < deadlineMs / 3, `${slowestMs} ms`);

  for (const [index, { port }] of cluster.entries()) {
    const [dir = '', bus = ''] = [folders, buses].map((answers) => String(Object(answers[index])[1]));
    await redisFor(t, ['--cluster-enabled', 'yes', '--cluster-port', bus, '--dir', dir], port);
  }
  await until(() => limiter.mode === 'shared' && redis.isConnected(), 60_000);
  const left = await Promise.all(keys.map(async (key) => (await limiter.peek(key, plan, 0)).inForce.remaining));
  assert.equal(limiter.mode, 'shared');
  assert.deepEqual(new Set(left), new Set([1_000_000]));
});

for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
  test(`after ${signal} for one shard of a cluster, its keys are decided at once by each process, the others are still shared, and a server says so`, {
    skip,
  }, async (t) => {
    const cluster = await startRedisCluster(['--cluster-require-full-coverage', 'no']);
    t.after(() => Promise.all(cluster.map((node) => node.stop())));
    const nodes = cluster.map(({ port }) => ({ host: HOST, port }));
    const limiters: RedisLimiter[] = [];
    for (let n = 0; n < 2; n++) {
      const redis = await connectRedis({ nodes, db: 0, tls: false, name: 'cluster' });
      t.after(redis.close);
      // Only the stopped shard is late, however busy the machine is.
      limiters.push(createRedisLimiter({ send: redis.send, refusalCacheMs: 0, deadlineMs: 3_000 }));
    }
    const server = await startServer(
      t,
      {},
      '--redis-url',
      nodes.map(({ port }) => `redis://${HOST}:${port}`).join(','),
    );
    const keys = Array.from({ length: 30 }, (_, n) => `customer-${n}`);
    const plan = createPlan({ name: 'plenty', policies: [perDay(1_000_000)], ban: false });
    /** For each key, whether it was decided without waiting, and what remains. */
    const takeAll = (limiter = limiters[0] ?? assert.fail()) =>
      Promise.all(
        keys.map(async (key) => {
          const decision = limiter.take(key, plan);
          return { isAlone: !(decision instanceof Promise), left: (await decision).inForce.remaining };
        }),
      );
    for (const limiter of limiters) await takeAll(limiter);
    cluster[0]?.child.kill(signal);
    await until(async () => {
      const rounds = await Promise.all(limiters.map(takeAll));
      return rounds.every((round) => round.some(({ isAlone }) => isAlone) && round.some(({ isAlone }) => !isAlone));
    });
    await until(async () => {
      // One of three keys belongs to the dead shard.
      const { key } = await issueKey(server.cwd, 'pro');
      for (let n = 0; n < 3; n++) await server.get(key);
      return (
        (await quotasOf(server)) === 'degraded' &&
        server.events().includes('quotas counted in this process only, where Redis fails')
      );
    });

    const [before, there, after] = [await takeAll(), await takeAll(limiters[1]), await takeAll()];
    const alone = keys.filter((_, index) => before[index]?.isAlone && after[index]?.isAlone);
    t.diagnostic(`${alone.length} of ${keys.length} keys are decided by each process`);
    for (const [index, key] of keys.entries()) {
      const used = (before[index]?.left ?? 0) - (after[index]?.left ?? 0);
      assert.equal(used, alone.includes(key) ? 1 : 2, key);
      assert.equal(there[index]?.isAlone, alone.includes(key), key);
    }
    for (const { mode } of limiters) assert.equal(mode, 'local');
    if (signal !== 'SIGSTOP') return;
    cluster[0]?.child.kill('SIGCONT');
    await until(
      async () => (await quotasOf(server)) === 'ok' && limiters.every(({ mode }) => mode === 'shared'),
      30_000,
    );
  });
}
