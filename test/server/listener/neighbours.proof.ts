import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { skip as skipRedis, startRedis } from '../../support/redis-server.js';
import { besideStrangers } from './support/neighbours.js';

const seconds = Number(process.env['STORE_ORDERS_SECONDS'] ?? 1);
const skip = missingEngine || skipRedis;
const engine = skip ? undefined : await startEngine();
const redis = skip ? undefined : await startRedis();
after(() => redis?.stop());

/** Kinds of strangers, each with its number of connections from one address. */
const STRANGERS = [
  ['without a key', 250],
  ['made-up keys', 250],
  ['non-readers', 250],
  ['connections', 250],
  ['slow heads', 256],
  ['slow bodies', 256],
  ['slow readers', 250],
  ['line breaks', 256],
  ['silence', 256],
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
