import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { programIn, startServer } from '../../program/support/program.js';
import { MIB, mebibytes } from '../../support/memory.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { connectRedis, skip as skipRedis, startRedis } from '../../support/redis-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { ORDERS, runCrowd, type Served } from './support/crowd.js';

/** Set this variable to 600 for the whole soak. */
const SECONDS = Number(process.env['STORE_ORDERS_SOAK_SECONDS'] ?? 10);

/** What more than at the base is taken for noise. A heap grows until it is collected. */
const NOISE = { rss: 64 * MIB, timers: 2, files: 2, backends: 0 };
/** How many files a server opens for its first long lists, and keeps. */
const FIRST_FILES = 12;

interface Measured {
  readonly rss: number;
  readonly timers: number;
  readonly files: number;
  readonly backends: number;
}

/**
 * Runs a crowd of customers twice, for a quarter of the time and for the whole. What the server holds
 * after the second must be what it held after the first.
 */
async function soak(t: TestContext, env: Record<string, string>, backends: () => Promise<number>) {
  const { cwd, json, output } = programIn({ env, cwd: temporaryDirectory() });
  const lines = Array.from({ length: ORDERS }, (_, index) => `{"id":${index + 1},"petId":7,"quantity":1}\n`);
  await output('orders import -', lines.join(''));
  const server = await startServer(t, { cwd, env }, '--log', 'events', '--metrics-port', '0');
  const createKey = async (plan: string) => Object(await json(`keys create --plan ${plan}`));
  const changeKey = async (how: string, id: string) => Object(await json(`keys ${how} ${id}`)).key;
  const url = new URL(server.url);

  async function measure(): Promise<Measured> {
    const page = await server.metrics();
    const figure = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(page)?.[1] ?? 0);
    return {
      rss: figure('process_resident_memory_bytes'),
      timers: figure('nodejs_active_resources\\{type="Timeout"\\}'),
      files: figure('process_open_fds'),
      backends: await backends(),
    };
  }

  /** Resolves to the first figures that are not above the base, or to the last ones. */
  async function settled(base: Measured): Promise<Measured> {
    let last = await measure();
    const isSettled = () =>
      (['timers', 'files', 'backends'] as const).every((name) => last[name] <= base[name] + NOISE[name]);
    await until(async () => {
      last = await measure();
      return isSettled();
    }).catch(() => {});
    return last;
  }

  const idle = await measure();
  const quarter = await runCrowd({ url, createKey, changeKey }, SECONDS / 4);
  const base = await settled({ ...idle, files: idle.files + FIRST_FILES });
  const whole = await runCrowd({ url, createKey, changeKey }, SECONDS);
  const end = await settled(base);
  t.diagnostic(JSON.stringify({ idle, base, end, whole }));
  t.diagnostic(`resident: ${[idle, base, end].map(({ rss }) => mebibytes(rss)).join(' → ')}`);
  for (const name of ['timers', 'files', 'backends', 'rss'] as const)
    assert.ok(end[name] <= base[name] + NOISE[name], `${name}: ${base[name]} → ${end[name]}`);
  assert.deepEqual(unexpected(quarter), []);
  assert.deepEqual(unexpected(whole), []);
  assert.deepEqual(
    server.events().filter((event) => event !== 'listening'),
    [],
  );
  return { server, cwd, keys: Object(await json('keys list')).length };
}

const EXPECTED =
  /^(?:list (?:200|304|429)|cancel (?:204|409)|refused (?:200|429)|new key 200 200 401 401|slow list read|hang-up cut)$/;

function unexpected(served: Served): string[] {
  return Object.keys(served).filter((what) => !EXPECTED.test(what));
}

test('after a soak by a crowd of valid keys, a server on a file holds what it held before', async (t) => {
  const { cwd } = await soak(t, {}, async () => 0);
  const log = join(cwd, 'store-orders.db-wal');
  const bytes = existsSync(log) ? statSync(log).size : 0;
  t.diagnostic(`write-ahead log: ${mebibytes(bytes)}`);
  assert.ok(bytes <= 8 * MIB, mebibytes(bytes));
});

test('after a soak by a crowd of valid keys, a server over PostgreSQL and Redis holds what it held before', {
  skip: missingEngine || skipRedis,
}, async (t) => {
  const engine = await startEngine();
  const redis = await startRedis();
  t.after(redis.stop);
  const pool = engine.pool({ max: 1 });
  const counter = connectRedis(redis.port);
  t.after(() => counter.disconnect());
  const env = { DATABASE_URL: await createDatabase(engine), REDIS_URL: `redis://127.0.0.1:${redis.port}` };
  const open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'store-orders'";
  const { keys } = await soak(t, env, async () => Number((await pool.query(open)).rows[0].count));
  const records = await counter.dbsize();
  t.diagnostic(`${records} records in Redis, of ${keys} keys`);
  assert.ok(records <= keys + 10, `${records} records`);
});
