import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { type Server, skip, startServer as startRedis } from '../../limits/redis/support/server.js';
import {
  answerOf,
  issueKey,
  type RunningServer,
  run,
  sleep,
  startServer,
  temporaryDirectory,
  until,
} from '../support/program.js';

let redis: Server | undefined;

before(async () => {
  if (!skip) redis = await startRedis();
});

after(() => redis?.stop());

async function drain(server: RunningServer, apiKey: string, requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) await (await server.get(apiKey)).arrayBuffer();
}

async function remaining(server: RunningServer, apiKey: string): Promise<string | null> {
  return (await server.get(apiKey)).headers.get('x-ratelimit-remaining');
}

async function bodyOf(server: RunningServer, apiKey: string): Promise<string> {
  return (await server.get(apiKey)).text();
}

const redisUrl = () => `redis://127.0.0.1:${redis?.port}`;
const PLACES = [
  { name: 'in the file', skip: false, env: () => ({}), place: () => 'store-orders.db' },
  { name: 'in Redis', skip, env: () => ({ REDIS_URL: redisUrl() }), place: redisUrl },
];

for (const { name, skip, env, place } of PLACES) {
  test(`a running server shows, resets and lifts what its commands ask for, within a second: ${name}`, {
    skip,
  }, async (t) => {
    const options = { cwd: temporaryDirectory(t), env: env() };
    const { cwd } = options;
    const server = await startServer(t, options);
    const { key, id } = await issueKey(cwd, 'enterprise', '--per-minute', '3', '--per-day', '90');
    const idle = await run(['quota', 'show', id], options);
    assert.equal(
      idle.stdout,
      `${id}: enterprise, 3 per minute, 90 per day\nminute: 3 of 3 left\nday: 90 of 90 left\nnot banned\n`,
    );

    await drain(server, key, 4);
    await until(async () => {
      const shown = JSON.stringify(await answerOf(['quota', 'show', id], options));
      return /"quota":3,"remaining":0,"resetAt":"[^"]+Z".*"quota":90,"remaining":87,.*"bannedUntil":null/.test(shown);
    }, 1_500);

    assert.equal(
      (await run(['quota', 'reset', id], options)).stdout,
      `${id} has its full quotas, as counted in ${place()}\n`,
    );
    await until(async () => (await server.get(key)).status === 200, 1_000);

    // Refusals are strikes from two seconds after the first; the twentieth bans.
    await drain(server, key, 3);
    await sleep(2_050);
    await drain(server, key, 20);
    assert.match(await bodyOf(server, key), /"code":"api_key_banned"/);
    await sleep(600);
    assert.match((await run(['quota', 'show', id], options)).stdout, /\nbanned until \S+Z\n$/);
    assert.equal((await run(['ban', 'lift', id], options)).stdout, `${id} is not banned, as counted in ${place()}\n`);
    await until(async () => (await bodyOf(server, key)).includes('"rate_limit_exceeded"'), 1_000);
    assert.match((await run(['quota', 'show', id], options)).stdout, /: 0 of 3 left.*\nday: /);

    const absent = await run(['quota', 'show', 'key_absent'], options);
    assert.deepEqual(
      [absent.code, absent.stderr],
      [1, 'store-orders: there is no key key_absent; keys list shows all\n'],
    );
  });

  test(`a restart gives nobody a fresh day, and resets asked for meanwhile are done: ${name}`, { skip }, async (t) => {
    const options = { cwd: temporaryDirectory(t), env: env() };
    const { cwd } = options;
    const first = await startServer(t, options);
    const a = await issueKey(cwd, 'enterprise', '--per-day', '10');
    const b = await issueKey(cwd, 'enterprise', '--per-day', '10');
    await drain(first, a.key, 4);
    await drain(first, b.key, 11);
    assert.equal(await first.stop('SIGTERM'), 0);
    await answerOf(['quota', 'reset', b.id], options);
    assert.match((await run(['quota', 'show', b.id], options)).stdout, /day: 10 of 10 left\n/);

    const second = await startServer(t, options);
    assert.equal(await remaining(second, a.key), '5');
    assert.equal(await remaining(second, b.key), '9');
  });
}

test('a server that is killed forgets one second of quotas at most', async (t) => {
  const cwd = temporaryDirectory(t);
  const first = await startServer(t, { cwd });
  const { key } = await issueKey(cwd, 'enterprise', '--per-day', '10');
  await drain(first, key, 4);
  await sleep(1_000);
  assert.equal(await first.stop('SIGKILL'), 'SIGKILL');
  const second = await startServer(t, { cwd });
  assert.equal(await remaining(second, key), '5');
});

test('while another process holds the lock the server answers, and saves the quotas when it is gone', async (t) => {
  const cwd = temporaryDirectory(t);
  const server = await startServer(t, { cwd });
  const { key, id } = await issueKey(cwd, 'enterprise', '--per-day', '10');
  const other = openSqliteDatabase(join(cwd, 'store-orders.db'));
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  await drain(server, key, 3);
  await until(() =>
    server.log().some(({ level, event }) => level === 'error' && String(event).startsWith('quotas not saved')),
  );
  assert.equal(await remaining(server, key), '6');
  other.exec('COMMIT');
  await until(async () => /"remaining":6/.test(JSON.stringify(await answerOf(['quota', 'show', id], { cwd }))), 1_500);
});
