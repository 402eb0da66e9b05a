import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLimiter, createPlan, perDay } from 'store-orders/limiter';
import { createManualClock } from 'store-orders/testing';
import { withSavedQuotas } from '../../../dist/server/quotas/saved-limiter.js';
import { openSqliteStorage } from '../../../dist/server/storage/sqlite.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { testBanCommands } from '../support/ban-commands.js';
import { run } from '../support/program.js';

testBanCommands({ name: 'in the file', env: () => ({}), place: () => 'store-orders.db' });

test('a ban ends at the requested time, even if the server applies the ban late', async (t) => {
  const outcome = openSqliteStorage(':memory:');
  assert.ok(outcome.ok);
  t.after(outcome.data.close);
  const { quotas: table } = outcome.data;
  const clock = { ...createManualClock(1_000_000), utcOffsetMs: () => 60_000 };
  const limiter = createMemoryLimiter({ clock });
  const saved = await withSavedQuotas({ limiter, clock, table });
  const plan = createPlan({ name: 'small', policies: [perDay(5)] });
  await table.request('key_a', `ban ${1_060_000 + 5_000}`);
  await table.request('key_b', `ban ${1_060_000 + 700}`);
  clock.advance(700);
  assert.deepEqual(await saved.save(), { ok: true });
  const decision = limiter.peek('key_a', plan);
  assert.deepEqual([decision.verdict, decision.retryAfterMs], ['banned', 4_300]);
  assert.equal(limiter.peek('key_b', plan).verdict, 'within_quota');
  assert.equal((await table.pending()).length, 0);
});

test('"ban set" refuses an invalid or missing duration', async () => {
  const cwd = temporaryDirectory();
  const ban = (...args: readonly string[]) => run(['ban', 'set', 'key_a', ...args], { cwd });
  for (const time of ['10', '0m', '1.5h', 'm', '-1s', '366d', '1w', '999999999d']) {
    const { code, stderr } = await ban(`--for=${time}`);
    const says = `--for: expected a time up to 365d, such as 90s, 10m, 2h or 7d, not ${JSON.stringify(time)}`;
    assert.deepEqual([code, stderr], [2, `store-orders: ${says}\n`]);
  }
  const { code, stderr } = await ban();
  assert.deepEqual(
    [code, stderr],
    [2, 'store-orders: missing required option --for TIME; run "store-orders ban set --help"\n'],
  );
  const list = await run(['quota', 'list', '--limit', '0'], { cwd });
  assert.deepEqual(
    [list.code, list.stderr],
    [2, 'store-orders: --limit: expected a whole number from 1 up, not "0"\n'],
  );
});
