import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createDatabase } from '../../databases/postgres/support/database.js';
import { programIn, startServer } from '../../program/support/program.js';
import { MIB, mebibytes } from '../../support/memory.js';
import { messageFrom } from '../../support/outer-environment.js';
import { missingEngine, startEngine } from '../../support/postgres-server.js';
import { connectRedis, PATIENT, skip as skipRedis, startRedis } from '../../support/redis-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { ORDERS, runCrowd, type Served } from './support/crowd.js';

/** Set this variable to 600 for the whole soak. */
const SECONDS = Number(process.env['STORE_ORDERS_SOAK_SECONDS'] ?? 10);

/** What more than at the base is taken for noise. Resident memory includes what the allocators keep. */
const NOISE = { heap: 8 * MIB, rss: 64 * MIB, timers: 2, files: 2, backends: 0 };
/** How many files a process opens when it first has several long lists at once, and keeps. */
const FIRST_FILES = 12;

interface Measured {
  /** What its objects and buffers take after a collection of garbage. */
  readonly heap: number;
  readonly rss: number;
  readonly timers: number;
  readonly files: number;
  readonly backends: number;
}

type Soaked = Parameters<typeof runCrowd>[0] & { measure(): Promise<Measured> };

/**
 * Runs a crowd of customers twice, for a quarter of the time and for the whole. What the processes
 * hold after the second must be what they held after the first.
 */
async function soak(t: TestContext, { measure, ...crowd }: Soaked, processes = 1): Promise<void> {
  /** Resolves to the first figures that are not above the base, or to the last ones. */
  async function settled(base: Measured, names: readonly (keyof Measured)[]): Promise<Measured> {
    let last = await measure();
    await until(async () => {
      await sleep(250);
      last = await measure();
      return names.every((name) => last[name] <= base[name] + NOISE[name] * processes);
    }).catch(() => {});
    return last;
  }

  const idle = await measure();
  const quarter = await runCrowd(crowd, SECONDS / 4);
  const opened = { ...idle, files: idle.files + FIRST_FILES * processes };
  const { files: _, ...used } = await settled(opened, ['timers', 'files', 'backends']);
  const base = { ...used, files: opened.files };
  const whole = await runCrowd(crowd, SECONDS);
  const end = await settled(base, ['heap', 'rss', 'timers', 'files', 'backends']);
  t.diagnostic(JSON.stringify({ idle, base, end, whole }));
  for (const name of ['heap', 'rss'] as const)
    t.diagnostic(`${name}: ${[idle, base, end].map((measured) => mebibytes(measured[name])).join(' → ')}`);
  for (const name of ['timers', 'files', 'backends', 'heap', 'rss'] as const)
    assert.ok(end[name] <= base[name] + NOISE[name] * processes, `${name}: ${base[name]} → ${end[name]}`);
  assert.deepEqual(unexpected(quarter), []);
  assert.deepEqual(unexpected(whole), []);
}

/** Soaks a server, which has a process for each worker, and one more if it has several. */
async function soakServer(
  t: TestContext,
  env: Record<string, string>,
  backends: () => Promise<number>,
  ...options: string[]
) {
  const { cwd, json, output } = programIn({ env, cwd: temporaryDirectory() });
  const lines = Array.from({ length: ORDERS }, (_, index) => `{"id":${index + 1},"petId":7,"quantity":1}\n`);
  await output('orders import -', lines.join(''));
  const collecting = `--import=${new URL('support/collect-on-signal.mjs', import.meta.url)}`;
  const server = await startServer(
    t,
    { cwd, env: { ...env, NODE_OPTIONS: `${collecting} ${PATIENT.NODE_OPTIONS}` } },
    ...['--log', 'events', '--metrics-port', '0', ...options],
  );
  const children = readFileSync(`/proc/${server.child.pid}/task/${server.child.pid}/children`, 'latin1');
  const pids = [Number(server.child.pid), ...(children.match(/\d+/g) ?? []).map(Number)];
  let newest = ORDERS;
  await soak(
    t,
    {
      url: new URL(server.url),
      createKey: async (plan) => Object(await json(`keys create --plan ${plan}`)),
      changeKey: async (how, id) => Object(await json(`keys ${how} ${id}`)).key,
      addOrder: () => output('orders import -', `{"id":${++newest}}`),
      async measure() {
        for (const pid of pids) process.kill(pid, 'SIGUSR2');
        const page = await server.metrics();
        const figure = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(page)?.[1] ?? assert.fail(name));
        return {
          heap: figure('nodejs_heap_size_used_bytes') + figure('nodejs_external_memory_bytes'),
          rss: figure('process_resident_memory_bytes'),
          timers: figure('nodejs_active_resources\\{type="Timeout"\\}'),
          files: figure('process_open_fds'),
          backends: await backends(),
        };
      },
    },
    pids.length,
  );
  assert.deepEqual(
    server.events().filter((event) => event !== 'listening'),
    [],
  );
  return { server, cwd, keys: Object(await json('keys list')).length };
}

const EXPECTED =
  /^(?:list (?:200|304|429)|cancel (?:204|404|409)|order added|refused (?:200|429)|new key 200 200 401 401|slow list read|hang-up cut)$/;

function unexpected(served: Served): string[] {
  return Object.keys(served).filter((what) => !EXPECTED.test(what));
}

test('after a soak by a crowd of valid keys, a server on a file holds what it held before', async (t) => {
  const { cwd } = await soakServer(t, {}, async () => 0);
  const log = join(cwd, 'store-orders.db-wal');
  const bytes = existsSync(log) ? statSync(log).size : 0;
  t.diagnostic(`write-ahead log: ${mebibytes(bytes)}`);
  assert.ok(bytes <= 8 * MIB, mebibytes(bytes));
});

test('after a soak by a crowd of valid keys, two workers over PostgreSQL and Redis hold what they held before', {
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
  const backends = async () => Number((await pool.query(open)).rows[0].count);
  const { keys } = await soakServer(t, env, backends, '--workers', '2');
  const records = await counter.dbsize();
  t.diagnostic(`${records} records in Redis, of ${keys} keys`);
  assert.ok(records <= keys + 10, `${records} records`);
});

test('after a soak by a crowd of keys, a host whose lists have no version holds what it held before', async (t) => {
  const host = fileURLToPath(new URL('support/list-host.ts', import.meta.url));
  const child = fork(host, ['without a version', `${ORDERS}`], { execArgv: ['--import', 'tsx'] });
  t.after(() => child.kill());
  const { port } = await messageFrom<{ readonly port: number }>(child);
  let keys = 0;
  await soak(t, {
    url: new URL(`http://127.0.0.1:${port}/v1`),
    createKey: async () => ({ id: '', key: `key-${++keys}` }),
    addOrder: async () => child.send('add'),
    async measure() {
      child.send('report');
      const { heapUsed, external, rss, timers } = await messageFrom<NodeJS.MemoryUsage & { readonly timers: number }>(
        child,
      );
      const files = readdirSync(`/proc/${child.pid}/fd`).length;
      return { heap: heapUsed + external, rss, timers, files, backends: 0 };
    },
  });
});
