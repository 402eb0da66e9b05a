import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createMemoryLimiter, createPlan, perDay, perMinute } from 'store-orders/limiter';
import { openSqliteStorage, type SqliteStorage, withSavedQuotas } from 'store-orders/server';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { createManualClock } from 'store-orders/testing';
import { type Server, skip, startServer as startRedis } from '../redis/server.js';
import {
  answerOf,
  issueKey,
  type RunningServer,
  run,
  sleep,
  startServer,
  temporaryDirectory,
  until,
} from './program.js';

let redis: Server | undefined;

before(async () => {
  if (!skip) redis = await startRedis();
});

after(() => redis?.stop());

const plan = createPlan({ name: 'small', policies: [perMinute(3), perDay(5)], ban: { after: 2, graceMs: 0 } });

function open(t: { after(work: () => void): void }, file: string) {
  const outcome = openSqliteStorage(file, { create: true });
  assert.ok(outcome.ok);
  t.after(outcome.data.close);
  return outcome.data;
}

function createSaved({ quotas: table }: SqliteStorage, clock = createManualClock()) {
  const limiter = createMemoryLimiter({ clock });
  return { limiter, clock, saved: withSavedQuotas({ limiter, clock, table }) };
}

/** Requests until the key is banned. */
function provoke({ saved, clock }: ReturnType<typeof createSaved>): void {
  for (let i = 0; i < 6; i++) {
    saved.take('key_a', plan);
    clock.advance(1);
  }
}

test('what was taken, struck and banned is the same after it was saved and loaded', async (t) => {
  const opened = open(t, ':memory:');
  const before = createSaved(opened);
  provoke(before);
  before.saved.take('key_b', plan, 2);
  assert.deepEqual(await before.saved.save(), { ok: true });
  const after = createSaved(opened, before.clock);
  for (const key of ['key_a', 'key_b']) assert.deepEqual(after.limiter.inspect(key), before.limiter.inspect(key));
  assert.equal(after.saved.take('key_a', plan).verdict, 'banned');
  assert.equal(after.saved.take('key_b', plan, 0).inForce.remaining, 1);
});

test('quotas are saved in Unix time: a clock that has drifted from it loses and gains nothing', async (t) => {
  const opened = open(t, ':memory:');
  const before = createSaved(opened, { ...createManualClock(1_000_000), utcOffsetMs: () => 60_000 });
  provoke(before);
  const announced = before.saved.take('key_a', plan);
  await before.saved.save();
  const after = createSaved(opened, createManualClock(before.clock.nowMs() + 60_000));
  const found = after.saved.take('key_a', plan);
  assert.equal(found.verdict, 'banned');
  assert.equal(found.retryAfterMs, announced.retryAfterMs);
  assert.equal(found.inForce.resetAtMs, announced.inForce.resetAtMs + 60_000);
});

test('what was requested while no server ran is done before the first request is counted', async (t) => {
  const opened = open(t, ':memory:');
  opened.quotas.request('key_a', 'reset');
  opened.quotas.request('key_b', 'lift_ban');
  const { saved, limiter } = createSaved(opened);
  saved.take('key_a', plan);
  await saved.save();
  assert.equal(limiter.inspect('key_a')?.buckets.length, 2);
});

test('addresses are not saved, and a key that is back to full leaves no row', async (t) => {
  const opened = open(t, ':memory:');
  const { saved, clock } = createSaved(opened);
  const addresses = createPlan({ name: 'address', partition: 'address', policies: [perMinute(9)] });
  saved.take('127.0.0.1', addresses);
  saved.take('key_a', plan);
  await saved.save();
  assert.equal(opened.quotas.load().states.length, 1);
  clock.advance(86_400_000);
  saved.take('key_a', plan, 0);
  await saved.save();
  assert.equal(opened.quotas.load().states.length, 0);
});

test('what could not be saved is saved by the next call, and a request is not done twice', async (t) => {
  const file = join(temporaryDirectory(t), 'quotas.db');
  const opened = open(t, file);
  opened.neverBlock();
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  const { saved, limiter } = createSaved(opened);
  saved.take('key_a', plan);
  other.exec("BEGIN IMMEDIATE; INSERT INTO quota_requests (key_id, request) VALUES ('key_b', 'reset')");
  const refused = await saved.save();
  assert.ok(!refused.ok && refused.error instanceof Error);
  assert.match(refused.error.message, /locked/);
  other.exec('COMMIT');

  // Now the rows cannot be written although the lock is free: the request is done, its removal is not.
  saved.take('key_b', plan);
  other.exec("CREATE TRIGGER full BEFORE INSERT ON quotas BEGIN SELECT RAISE(ABORT, 'full'); END");
  assert.equal((await saved.save()).ok, false);
  assert.equal(limiter.inspect('key_b'), undefined);
  saved.take('key_b', plan);
  other.exec('DROP TRIGGER full');
  assert.deepEqual(await saved.save(), { ok: true });
  assert.notEqual(limiter.inspect('key_b'), undefined, 'taken after the reset, so it stays taken');
  assert.equal(other.prepare('SELECT * FROM quotas').all().length, 2);
  assert.equal(other.prepare('SELECT * FROM quota_requests').all().length, 0);
});

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
