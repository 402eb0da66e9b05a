import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createPlan, perDay, perMinute } from 'store-orders/limiter';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { createManualClock } from 'store-orders/testing';
import { createStatefulLimiter } from '../../../dist/limits/memory/limiter.js';
import { withSavedQuotas } from '../../../dist/server/quotas/saved-quotas.js';
import { openSqliteStorage } from '../../../dist/server/storage/sqlite.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const plan = createPlan({ name: 'small', policies: [perMinute(3), perDay(5)], ban: { after: 2, graceMs: 0 } });

function open(t: TestContext, file = ':memory:') {
  const outcome = openSqliteStorage(file, { create: true });
  assert.ok(outcome.ok);
  t.after(outcome.data.close);
  return outcome.data.quotas;
}

type Table = ReturnType<typeof open>;

/** Starts to count. `utcOffsetMs` is what the clock adds to its time to get Unix time. */
async function start(table: Table, startMs?: number, utcOffsetMs = 0) {
  const clock = { ...createManualClock(startMs), utcOffsetMs: () => utcOffsetMs };
  const limiter = createStatefulLimiter({ clock });
  return { limiter, clock, saved: await withSavedQuotas(limiter, clock, table) };
}

/** Sends requests until the key is banned. */
function provoke({ saved, clock }: Awaited<ReturnType<typeof start>>): void {
  for (let i = 0; i < 6; i++) {
    saved.take('key_a', plan);
    clock.advance(1);
  }
}

test('used quotas and bans survive a restart, although the clock of the next process starts at another zero', async (t) => {
  const table = open(t);
  const before = await start(table, 1_000_000, 60_000);
  provoke(before);
  before.saved.take('key_b', plan, 2);
  await before.saved.save();
  const after = await start(table, before.clock.nowMs() + 60_000);
  for (const key of ['key_a', 'key_b']) {
    const [expected, found] = [before.saved.take(key, plan, 0), after.saved.take(key, plan, 0)];
    assert.equal(found.verdict, key === 'key_a' ? 'banned' : 'within_quota');
    assert.equal(found.retryAfterMs, expected.retryAfterMs);
    assert.equal(found.inForce.remaining, expected.inForce.remaining);
    assert.equal(found.inForce.resetAtMs, expected.inForce.resetAtMs + 60_000);
  }
});

test('refusals that count towards a ban are saved with their times, and still count after a restart', async (t) => {
  const table = open(t);
  const strict = createPlan({ name: 'strict', policies: [perDay(1)], ban: { after: 3, graceMs: 10, withinMs: 1_000 } });
  const before = await start(table, 1_000_000, 5_000);
  for (const afterMs of [0, 0, 1, 100, 600]) {
    before.clock.advance(afterMs);
    before.saved.take('key', strict);
  }
  await before.saved.save();
  const { refusedAtMs, forgiven, strikesAtMs } = before.limiter.inspect('key')?.ban ?? assert.fail();
  assert.deepEqual([refusedAtMs, forgiven, strikesAtMs], [1_000_000, 1, [1_000_101, 1_000_701]]);

  // After the restart, the clock's offset to Unix time is different.
  const after = await start(table, 7_000_800, 5_000 - 6_000_000);
  assert.deepEqual(after.limiter.inspect('key')?.ban?.strikesAtMs, [7_000_101, 7_000_701]);
  assert.equal(after.saved.take('key', strict).verdict, 'banned');
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
  other.exec("BEGIN IMMEDIATE; INSERT INTO quota_requests (key_id, request) VALUES ('key_b', 'reset')");
  await assert.rejects(saved.save(), /locked/);
  other.exec('COMMIT');

  // The lock is free now, but a trigger makes writes fail. The reset of key_b is applied in memory,
  // but stays in the table quota_requests.
  saved.take('key_b', plan);
  other.exec("CREATE TRIGGER full BEFORE INSERT ON quotas BEGIN SELECT RAISE(ABORT, 'full'); END");
  await assert.rejects(saved.save(), /full/);
  assert.equal(limiter.inspect('key_b'), undefined);
  saved.take('key_b', plan);
  other.exec('DROP TRIGGER full');
  await saved.save();
  assert.notEqual(limiter.inspect('key_b'), undefined, 'the next save does not reset the quotas of the key again');
  assert.equal(other.prepare('SELECT * FROM quotas').all().length, 2);
  assert.equal(other.prepare('SELECT * FROM quota_requests').all().length, 0);
});
