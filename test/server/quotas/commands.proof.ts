import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { type RedisServer, skip, startRedis } from '../../support/redis-server.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { testBanCommands } from '../support/ban-commands.js';
import { answerOf, issueKey, startServer } from '../support/program.js';
import { drain, remaining, testQuotaCommands } from '../support/quota-commands.js';

testQuotaCommands({ name: 'in the file', env: () => ({}), place: () => 'store-orders.db' });

suite('the quota and ban commands, with quotas in Redis', { skip }, () => {
  let redis: RedisServer;
  const url = () => `redis://127.0.0.1:${redis.port}`;

  before(async () => {
    redis = await startRedis();
  });
  after(() => redis.stop());

  testQuotaCommands({ name: 'in Redis', env: () => ({ REDIS_URL: url() }), place: url, cachesRefusals: true });
  testBanCommands({ name: 'in Redis', env: () => ({ REDIS_URL: url() }), place: url });
});

test('a killed server loses at most the quota changes of the last second', async (t) => {
  const cwd = temporaryDirectory();
  const first = await startServer(t, { cwd });
  const { key } = await issueKey(cwd, 'enterprise', '--per-day', '10');
  await drain(first, key, 4);
  await sleep(1_000);
  assert.equal(await first.stop('SIGKILL'), 'SIGKILL');
  const second = await startServer(t, { cwd });
  assert.equal(await remaining(second, key), '5');
});

test('a server responds while another process locks the database, and saves the quotas afterwards', async (t) => {
  const cwd = temporaryDirectory();
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
