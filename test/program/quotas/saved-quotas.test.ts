import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createMemoryLimiter, createPlan, perDay, perMinute } from 'store-orders/limiter';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { createManualClock } from 'store-orders/testing';
import { redisQuotaAdmin } from '../../../dist/program/quotas/admin.js';
import { openQuotaBackend } from '../../../dist/program/quotas/backend.js';
import { withSavedQuotas } from '../../../dist/program/quotas/saved-quotas.js';
import type { SavedQuotas } from '../../../dist/program/storage/quota-table.js';
import { openSqliteStorage } from '../../../dist/program/storage/sqlite.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';

const plan = createPlan({ name: 'small', policies: [perMinute(3), perDay(5)], ban: { after: 2, graceMs: 0 } });

function open(t: TestContext, file = ':memory:') {
  const outcome = openSqliteStorage(file, { create: true });
  assert.ok(outcome.ok);
  t.after(outcome.storage.close);
  return outcome.storage.quotas;
}

type Table = ReturnType<typeof open>;

/** Starts to count. `utcOffsetMs` is what the clock adds to its time to get Unix time. */
async function start(table: Table, startMs?: number, utcOffsetMs = 0) {
  const clock = { ...createManualClock(startMs), utcOffsetMs: () => utcOffsetMs };
  const limiter = createMemoryLimiter({ clock });
  return { limiter, clock, saved: await withSavedQuotas(limiter, clock, table) };
}

test('used quotas, bans and refusals that count towards a ban survive a restart, although the clock of the next process starts at another zero', async (t) => {
  const table = open(t);
  const strict = createPlan({ name: 'strict', policies: [perDay(1)], ban: { after: 3, graceMs: 10, withinMs: 1_000 } });
  const before = await start(table, 1_000_000, 5_000);
  for (let i = 0; i < 6; i++) {
    before.saved.take('banned', plan);
    before.clock.advance(1);
  }
  for (const afterMs of [0, 0, 1, 100, 600]) {
    before.clock.advance(afterMs);
    before.saved.take('refused', strict);
  }
  await before.saved.save();

  // The Unix time is the same, but the clock of the next process shows 6,000,000 ms more.
  const after = await start(table, 7_000_707, 5_000 - 6_000_000);
  const [minute, day] = [60_000, 86_400_000];
  const none = { refusedAtMs: 0, forgiven: 0, strikesAtMs: [], banEndMs: 0, banMs: 0, level: 0, forgetAtMs: 0 };
  assert.deepEqual(['banned', 'refused'].map(after.limiter.inspect), [
    {
      buckets: [
        { name: 'minute', windowMs: minute, refill: 'interval', taken: 3, atMs: 1_005_000 + minute },
        { name: 'day', windowMs: day, refill: 'interval', taken: 3, atMs: 1_005_000 + day },
      ],
      ban: { ...none, banEndMs: 1_005_005 + minute, banMs: minute, level: 1, forgetAtMs: 1_005_005 + minute + day },
    },
    {
      buckets: [{ name: 'day', windowMs: day, refill: 'interval', taken: 1, atMs: 1_005_006 + day }],
      ban: { ...none, refusedAtMs: 1_005_006, forgiven: 1, strikesAtMs: [1_005_107, 1_005_707] },
    },
  ]);
  after.clock.advance(99);
  assert.equal(after.saved.take('refused', strict).result, 'banned');
});

test('a ban ends at the requested time, even if the server applies the ban late', async (t) => {
  const table = open(t);
  const { saved, limiter, clock } = await start(table, 1_000_000, 60_000);
  await table.request('key_a', 'ban', 1_060_000 + 701);
  await table.request('key_b', 'ban', 1_060_000 + 700);
  clock.advance(700);
  await saved.save();
  const { result, retryAfterMs } = limiter.peek('key_a', plan);
  assert.deepEqual([result, retryAfterMs], ['banned', 1]);
  assert.equal(limiter.peek('key_b', plan).result, 'within_quota');
  assert.equal((await table.pending()).length, 0);
  saved.take('key_b', plan);
  await table.request('key_a', 'lift_ban');
  await table.request('key_b', 'lift_ban');
  await saved.save();
  assert.deepEqual(
    limiter.peek('key_b', plan, 0).windows.map(({ remaining }) => remaining),
    [2, 4],
    'the quotas stay as they are',
  );
  assert.equal(limiter.peek('key_a', plan).result, 'within_quota');
});

test('a requested ban ends on time, although the system clock was set after the start of the process', async (t) => {
  const table = open(t);
  const wallMs = Date.now() + 3_600_000;
  t.mock.method(Date, 'now', () => wallMs);
  await table.request('key_a', 'ban', wallMs + 60_000);
  const ignore = () => {};
  const log = { event: ignore, error: ignore };
  await assert.rejects(openQuotaBackend(undefined, undefined, log), { message: 'the storage has no table of quotas' });
  const { limiter, close } = await openQuotaBackend(undefined, table, log);
  const { retryAfterMs } = await limiter.take('key_a', plan, 0);
  assert.equal(Math.round(retryAfterMs / 60_000), 1);
  await close();
});

test('neither the quotas of addresses nor the full quotas of keys are saved', async (t) => {
  const table = open(t);
  const { saved, clock } = await start(table);
  const addresses = createPlan({ name: 'address', partition: 'address', policies: [perMinute(9)] });
  saved.take('127.0.0.1', addresses);
  const save = t.mock.method(table, 'save');
  await saved.save();
  assert.equal(save.mock.callCount(), 0);
  saved.take('key_a', plan);
  await saved.save();
  assert.equal((await table.load()).length, 1);
  clock.advance(86_400_000);
  saved.take('key_a', plan, 0);
  await saved.save();
  assert.equal((await table.load()).length, 0);
});

test('after a failed save of the quotas, the next save writes all quotas, and no quota command is applied twice', async (t) => {
  const file = join(temporaryDirectory(), 'quotas.db');
  const table = open(t, file);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  const { saved, limiter } = await start(table);
  saved.take('key_a', plan);
  saved.take('key_b', plan);
  await table.request('key_b', 'reset');
  other.exec("CREATE TRIGGER full BEFORE INSERT ON quotas BEGIN SELECT RAISE(ABORT, 'full'); END");
  await assert.rejects(saved.save(), /full/);
  assert.equal(limiter.inspect('key_b'), undefined);
  assert.equal((await table.pending()).length, 1);
  saved.take('key_b', plan);
  other.exec('DROP TRIGGER full');
  await saved.save();
  assert.notEqual(limiter.inspect('key_b'), undefined, 'the next save does not reset the quotas of the key again');
  assert.equal((await table.load()).length, 2);
  assert.equal((await table.pending()).length, 0);
});

test('a change that a command requests while the quotas are saved is applied by the next save', async (t) => {
  const table = open(t);
  const { saved, limiter } = await start(table);
  saved.take('key_a', plan);
  const { save } = table;
  t.mock.method(
    table,
    'save',
    async (...states: Parameters<typeof save>) => {
      await table.request('key_b', 'ban', Date.now() + 60_000);
      await save(...states);
    },
    { times: 1 },
  );
  await saved.save();
  assert.equal((await table.pending()).length, 1);
  await saved.save();
  assert.equal((await table.pending()).length, 0);
  assert.equal(limiter.peek('key_b', plan).result, 'banned');
});

test('a command waits 5 s for a reply of Redis', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const admin = redisQuotaAdmin(() => new Promise(() => {}), { name: 'redis', nodes: [], db: 0, tls: false });
  const failed = assert.rejects(admin.reset('key_a'), { message: 'no reply within 5000 ms' });
  t.mock.timers.tick(5_000);
  await failed;
});

test('a server saves changed quotas every half second and when it ends; it logs a failure and its end once', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const table = open(t);
  const events: unknown[] = [];
  const report = (...event: readonly unknown[]) => void events.push(event);
  let isLocked = true;
  let saves = 0;
  const save: SavedQuotas['save'] = async (...states) => {
    saves++;
    if (isLocked) throw new Error('database is locked');
    await table.save(...states);
  };
  const log = { event: report, error: report };
  const { limiter, close } = await openQuotaBackend(undefined, { ...table, save }, log);
  limiter.take('key_a', plan);
  for (let i = 0; i < 3; i++) {
    t.mock.timers.tick(500);
    await setImmediate();
  }
  assert.deepEqual(events, [['quotas not saved; will retry', { error: 'database is locked' }]]);
  isLocked = false;
  t.mock.timers.tick(500);
  await until(() => events.length === 2);
  assert.deepEqual(events[1], ['quotas saved again']);
  assert.equal((await table.load()).length, 1);
  t.mock.timers.tick(500);
  await setImmediate();
  limiter.take('key_b', plan);
  await close();
  assert.equal((await table.load()).length, 2);
  limiter.take('key_c', plan);
  t.mock.timers.tick(500);
  await setImmediate();
  assert.equal(saves, 5);
});
