import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { skip as skipRedis, startRedis } from '../../support/redis-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { issueKey, startServer } from '../support/program.js';
import { type Client, connectFrom, KEYED, KEYLESS } from './support/client.js';

const withFiles = (most: number) => ['sh', '-c', `ulimit -n ${most}; exec "$0" "$@"`];

test('if file descriptors run short, the server closes the oldest connections without a valid key, and serves customers', async (t) => {
  const cwd = temporaryDirectory();
  const options = { cwd, under: withFiles(160) };
  const server = await startServer(t, options, '--no-sample', '--max-connections-per-address', '0');
  const { key } = await issueKey(cwd, 'business');
  const port = Number(new URL(server.url).port);
  const keyed = KEYED.replace('ours', key);
  const customer = await connectFrom(port);
  assert.equal(await customer.ask(keyed), '200');

  // Of these clients without a valid key, a third send a request, a third send an unfinished
  // request head, and a third send nothing.
  const strangers: Client[] = [];
  for (let n = 0; n < 300; n++) {
    const stranger = await connectFrom(port, `127.0.0.${2 + (n % 3)}`);
    if (n % 3 === 0) stranger.socket.write(KEYLESS);
    if (n % 3 === 1) stranger.socket.write('GET /healthz HTTP/1.1\r\n');
    strangers.push(stranger);
  }
  // The server has room for about 100 connections, and keeps the newest.
  await until(() => strangers.filter((stranger) => !stranger.isClosed()).length <= 100);
  assert.ok(strangers.slice(0, 150).every((stranger) => stranger.isClosed()));
  assert.equal(await customer.ask(keyed), '200', "the customer's connection stays open");
  for (let n = 0; n < 10; n++)
    assert.equal(await (await connectFrom(port)).ask(keyed), '200', 'new customers are served');
});

test('STORE_ORDERS_MAX_CONNECTIONS_PER_ADDRESS limits the connections of an address', async (t) => {
  const env = { STORE_ORDERS_MAX_CONNECTIONS_PER_ADDRESS: '2' };
  const server = await startServer(t, { cwd: temporaryDirectory(), env }, '--no-sample');
  const port = Number(new URL(server.url).port);
  const clients = await Promise.all(Array.from({ length: 5 }, () => connectFrom(port)));
  await until(() => clients.filter((client) => client.isClosed()).length === 3);
});

const skip = missingEngine || skipRedis;
const engine = skip ? undefined : await startEngine();
const redis = skip ? undefined : await startRedis();
after(() => redis?.stop());

for (const workers of ['1', '2']) {
  test(`with ${workers} workers, the server is ready after floods of more connections than it may have open files`, {
    skip,
  }, async (t) => {
    const env = { DATABASE_URL: engine?.url ?? '', REDIS_URL: `redis://127.0.0.1:${redis?.port}` };
    const options = { cwd: temporaryDirectory(), env, under: withFiles(100) };
    const server = await startServer(t, options, '--workers', workers);
    const url = new URL('/readyz', server.url);
    for (let floods = 0; floods < 2; floods++) {
      const clients = await Promise.all(Array.from({ length: 300 }, () => connectFrom(Number(url.port))));
      await sleep(500);
      for (const { socket } of clients) socket.destroy();
    }
    const isReady = async () => (await fetch(url, { signal: AbortSignal.timeout(5_000) })).ok;
    // A worker may need a moment to notice that the connections of the flood are closed.
    await until(() => isReady().catch(() => false));
    assert.equal(await server.stop('SIGTERM'), 0);
  });
}
