import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { type RedisServer, skip, startRedis } from '../../support/redis-server.js';
import { until } from '../../support/until.js';
import { issueKey, programIn, startServer } from '../support/program.js';
import { drain, remaining, testQuotaCommands } from './support/quota-commands.js';

suite('the quota and ban commands, with quotas in the file', () => {
  testQuotaCommands(
    () => ({}),
    () => 'store-orders.db',
  );
});

suite('the quota and ban commands, with quotas in Redis', { skip }, () => {
  let redis: RedisServer;
  const url = () => `redis://127.0.0.1:${redis.port}`;

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());

  testQuotaCommands(() => ({ REDIS_URL: url() }), url);
});

test('"ban set" refuses an invalid or missing duration, and "quota list" an invalid limit', async () => {
  const { misuse } = programIn();
  for (const time of ['10', '0m', '1.5h', 'm', '-1s', '366d', '1w', '999999999d']) {
    assert.equal(
      await misuse(`ban set key_a --for=${time}`),
      `--for: expected a time up to 365d, such as 90s, 10m, 2h or 7d, not "${time}"`,
    );
  }
  assert.equal(await misuse('ban set key_a'), 'missing required option --for TIME; run "store-orders ban set --help"');
  assert.equal(await misuse('quota list --limit 0'), '--limit: expected a whole number from 1 to 1000000000, not "0"');
});

test('a killed server loses at most the quota changes of the last second', async (t) => {
  const { cwd } = programIn();
  const first = await startServer(t, { cwd });
  const { key } = await issueKey(cwd, 'enterprise', '--per-day', '10');
  await drain(first, key, 4);
  await sleep(1_000);
  assert.equal(await first.stop('SIGKILL'), 'SIGKILL');
  const second = await startServer(t, { cwd });
  assert.equal(await remaining(second, key), '5');
});

test('a server responds while another process locks the database, and saves the quotas afterwards', async (t) => {
  const { cwd, output } = programIn();
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
  await until(async () => (await output(`quota show ${id}`)).includes('day: 6 of 10 left'), 1_500);
});
