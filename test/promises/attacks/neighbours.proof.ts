import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { startServer } from '../../program/support/program.js';
import { connectFrom } from '../../server/support/client.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { skip as skipRedis, startRedis } from '../../support/redis-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { besideStrangers } from './support/neighbours.js';

const seconds = Number(process.env['STORE_ORDERS_SECONDS'] ?? 1);
const skip = missingEngine || skipRedis;
const engine = skip ? undefined : await startEngine();
const redis = skip ? undefined : await startRedis();
after(() => redis?.stop());

/** Kinds of strangers, each with its number of connections from one address. */
const STRANGERS = [
  ['without a key', 250],
  ['guessed keys', 250],
  ['non-readers', 250],
  ['connections', 250],
  ['slow heads', 1_024],
  ['slow bodies', 1_024],
  ['slow readers', 250],
  ['line breaks', 1_024],
  ['silence', 1_024],
  ['forty at a time', 4],
] as const;

for (const [kind, connections] of STRANGERS) {
  test(`customers over SQLite beside strangers: ${kind}`, (t) => besideStrangers(t, { kind, connections, seconds }));

  test(`customers over PostgreSQL beside strangers: ${kind}`, { skip }, async (t) => {
    assert.ok(engine && redis);
    const urls = { DATABASE_URL: await createDatabase(engine), REDIS_URL: `redis://127.0.0.1:${redis.port}` };
    await besideStrangers(t, { kind, connections, seconds, urls });
  });
}

for (const workers of ['1', '2']) {
  const says = `with ${workers} workers, the server is ready after floods of more connections than it may have open files`;
  test(says, { skip }, async (t) => {
    const env = { DATABASE_URL: engine?.url ?? '', REDIS_URL: `redis://127.0.0.1:${redis?.port}` };
    const options = { cwd: temporaryDirectory(), env, under: ['sh', '-c', 'ulimit -n 100; exec "$0" "$@"'] };
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
