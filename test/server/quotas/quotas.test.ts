import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, perDay, perMinute } from 'store-orders/limiter';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { createManualClock } from 'store-orders/testing';
import { withSavedQuotas } from '../../../dist/server/quotas/saved-limiter.js';
import { openSqliteStorage, type SqliteStorage } from '../../../dist/server/storage/sqlite.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const plan = createPlan({ name: 'small', policies: [perMinute(3), perDay(5)], ban: { after: 2, graceMs: 0 } });

function open(t: { after(work: () => void): void }, file: string) {
  const outcome = openSqliteStorage(file, { create: true });
  assert.ok(outcome.ok);
  t.after(outcome.data.close);
  return outcome.data;
}

async function createSaved({ quotas: table }: SqliteStorage, clock = createManualClock()) {
  const limiter = createMemoryLimiter({ clock });
  return { limiter, clock, saved: await withSavedQuotas({ limiter, clock, table }) };
}

/** Sends requests until the key is banned. */
function provoke({ saved, clock }: Awaited<ReturnType<typeof createSaved>>): void {
  for (let i = 0; i < 6; i++) {
    saved.take('key_a', plan);
    clock.advance(1);
  }
}

test('used quotas, refusals that count towards a ban, and bans survive saving and loading', async (t) => {
  const opened = open(t, ':memory:');
  const before = await createSaved(opened);
  provoke(before);
  before.saved.take('key_b', plan, 2);
  assert.deepEqual(await before.saved.save(), { ok: true });
  const after = await createSaved(opened, before.clock);
  for (const key of ['key_a', 'key_b']) assert.deepEqual(after.limiter.inspect(key), before.limiter.inspect(key));
  assert.equal(after.saved.take('key_a', plan).verdict, 'banned');
  assert.equal(after.saved.take('key_b', plan, 0).inForce.remaining, 1);
});

test('saved bans and windows keep their Unix times when a process whose clock starts at another zero loads them', async (t) => {
  const opened = open(t, ':memory:');
  const before = await createSaved(opened, { ...createManualClock(1_000_000), utcOffsetMs: () => 60_000 });
  provoke(before);
  const announced = before.saved.take('key_a', plan);
  await before.saved.save();
  const after = await createSaved(opened, createManualClock(before.clock.nowMs() + 60_000));
  const found = after.saved.take('key_a', plan);
  assert.equal(found.verdict, 'banned');
  assert.equal(found.retryAfterMs, announced.retryAfterMs);
  assert.equal(found.inForce.resetAtMs, announced.inForce.resetAtMs + 60_000);
});

test('quota commands that were given while no server ran are applied before the first HTTP request is counted', async (t) => {
  const opened = open(t, ':memory:');
  await opened.quotas.request('key_a', 'reset');
  await opened.quotas.request('key_b', 'lift_ban');
  const { saved, limiter } = await createSaved(opened);
  saved.take('key_a', plan);
  await saved.save();
  assert.equal(limiter.inspect('key_a')?.buckets.length, 2);
});

test('neither the quotas of addresses nor the full quotas of keys are saved', async (t) => {
  const opened = open(t, ':memory:');
  const { saved, clock } = await createSaved(opened);
  const addresses = createPlan({ name: 'address', partition: 'address', policies: [perMinute(9)] });
  saved.take('127.0.0.1', addresses);
  saved.take('key_a', plan);
  await saved.save();
  assert.equal((await opened.quotas.load()).length, 1);
  clock.advance(86_400_000);
  saved.take('key_a', plan, 0);
  await saved.save();
  assert.equal((await opened.quotas.load()).length, 0);
});

test('after a failed save of the quotas, the next save writes all quotas, and no quota command is applied twice', async (t) => {
  const file = join(temporaryDirectory(), 'quotas.db');
  const opened = open(t, file);
  const other = openSqliteDatabase(file);
  t.after(() => other.close());
  const { saved, limiter } = await createSaved(opened);
  saved.take('key_a', plan);
  other.exec("BEGIN IMMEDIATE; INSERT INTO quota_requests (key_id, request) VALUES ('key_b', 'reset')");
  const refused = await saved.save();
  assert.ok(!refused.ok && refused.error instanceof Error);
  assert.match(refused.error.message, /locked/);
  other.exec('COMMIT');

  // The lock is free now, but a trigger makes writes fail. The reset of key_b is applied in memory,
  // but stays in the table quota_requests.
  saved.take('key_b', plan);
  other.exec("CREATE TRIGGER full BEFORE INSERT ON quotas BEGIN SELECT RAISE(ABORT, 'full'); END");
  assert.equal((await saved.save()).ok, false);
  assert.equal(limiter.inspect('key_b'), undefined);
  saved.take('key_b', plan);
  other.exec('DROP TRIGGER full');
  assert.deepEqual(await saved.save(), { ok: true });
  assert.notEqual(limiter.inspect('key_b'), undefined, 'the next save does not reset the quotas of the key again');
  assert.equal(other.prepare('SELECT * FROM quotas').all().length, 2);
  assert.equal(other.prepare('SELECT * FROM quota_requests').all().length, 0);
});
