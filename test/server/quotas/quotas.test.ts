import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createPlan, perDay, perMinute } from 'store-orders/limiter';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { createManualClock } from 'store-orders/testing';
import { createStatefulLimiter } from '../../../dist/limits/memory/limiter.js';
import type { Log } from '../../../dist/server/log/log.js';
import { openQuotaBackend } from '../../../dist/server/quotas/backend.js';
import { withSavedQuotas } from '../../../dist/server/quotas/saved-quotas.js';
import type { SavedQuotas } from '../../../dist/server/quotas/table.js';
import { openSqliteStorage } from '../../../dist/server/storage/sqlite.js';
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
  const limiter = createStatefulLimiter({ clock });
  return { limiter, clock, saved: await withSavedQuotas(limiter, clock, table) };
}

test('used quotas, bans and refusals that count towards a ban survive a restart, although the clock of the next process starts at another zero', async (t) => {
  const table = open(t);
  const strict = createPlan({ name: 'strict', policies: [perDay(1)], ban: { after: 3, graceMs: 10, withinMs: 1_000 } });
  const before = await start(table, 1_000_000, 5_000);
  before.saved.take('used', plan, 2);
  for (let i = 0; i < 6; i++) {
    before.saved.take('banned', plan);
    before.clock.advance(1);
  }
  for (const afterMs of [0, 0, 1, 100, 600]) {
    before.clock.advance(afterMs);
    before.saved.take('refused', strict);
  }
  await before.saved.save();
  const { refusedAtMs, forgiven, strikesAtMs } = before.limiter.inspect('refused')?.ban ?? assert.fail();
  assert.deepEqual([refusedAtMs, forgiven, strikesAtMs], [1_000_006, 1, [1_000_107, 1_000_707]]);

  // The Unix time is the same, but the clock of the next process shows 6,000,000 ms more.
  const after = await start(table, 7_000_707, 5_000 - 6_000_000);
  for (const [key, verdict] of [
    ['used', 'within_quota'],
    ['banned', 'banned'],
  ] as const) {
    const [expected, found] = [before.saved.take(key, plan, 0), after.saved.take(key, plan, 0)];
    assert.equal(found.verdict, verdict);
    assert.equal(found.retryAfterMs, expected.retryAfterMs);
    assert.equal(found.inForce.remaining, expected.inForce.remaining);
    assert.equal(found.inForce.resetAtMs, expected.inForce.resetAtMs + 6_000_000);
  }
  assert.deepEqual(after.limiter.inspect('refused')?.ban?.strikesAtMs, [7_000_107, 7_000_707]);
  after.clock.advance(99);
  assert.equal(after.saved.take('refused', strict).verdict, 'banned');
});

test('a ban ends at the requested time, even if the server applies the ban late', async (t) => {
  const table = open(t);
  const { saved, limiter, clock } = await start(table, 1_000_000, 60_000);
  await table.request('key_a', `ban ${1_060_000 + 5_000}`);
  await table.request('key_b', `ban ${1_060_000 + 700}`);
  clock.advance(700);
  await saved.save();
  const { verdict, retryAfterMs } = limiter.peek('key_a', plan);
  assert.deepEqual([verdict, retryAfterMs], ['banned', 4_300]);
  assert.equal(limiter.peek('key_b', plan).verdict, 'within_quota');
  assert.equal((await table.pending()).length, 0);
});

test('a requested ban ends on time, although the system clock was set after the start of the process', async (t) => {
  const table = open(t);
  const wallMs = Date.now() + 3_600_000;
  t.mock.method(Date, 'now', () => wallMs);
  await table.request('key_a', `ban ${wallMs + 60_000}`);
  const ignore = () => {};
  const log: Log = { event: ignore, error: ignore, request: ignore, flush: ignore };
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

test('a server saves its quotas every half second, and logs a failure and its end once', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const table = open(t);
  const events: string[] = [];
  const report = (event: string) => void events.push(event);
  let isLocked = true;
  const save: SavedQuotas['save'] = async (...states) => {
    if (isLocked) throw new Error('database is locked');
    await table.save(...states);
  };
  const log: Log = { event: report, error: report, request: () => {}, flush: () => {} };
  const { limiter, close } = await openQuotaBackend(undefined, { ...table, save }, log);
  limiter.take('key_a', plan);
  for (let i = 0; i < 3; i++) {
    t.mock.timers.tick(500);
    await setImmediate();
  }
  assert.deepEqual(events, ['quotas not saved; will retry']);
  isLocked = false;
  t.mock.timers.tick(500);
  await until(() => events.length === 2);
  assert.equal(events[1], 'quotas saved again');
  assert.equal((await table.load()).length, 1);
  await close();
});
