import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { PATIENT, skip, startRedis } from '../../../support/redis-server.js';
import { until } from '../../../support/until.js';
import { issueKey, programIn, type RunningServer, remaining, startServer } from '../../support/program.js';

async function drain(server: RunningServer, apiKey: string, requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) await (await server.get(apiKey)).arrayBuffer();
}

/**
 * Tests the commands on quotas and bans. `env` has the variables that choose where quotas are kept,
 * and `place` is that place as the commands print it.
 */
function testQuotaCommands(env: Readonly<Record<string, string>>, place: string): void {
  test('"quota show" prints the quotas that a running server counts, and "quota reset" restores them', async (t) => {
    const { cwd, output, json } = programIn({ env });
    const server = await startServer(t, { cwd, env });
    const { key, id } = await issueKey(cwd, 'enterprise', '--per-minute', '3', '--per-day', '90');
    assert.equal(
      await output(`quota show ${id}`),
      `${id}: enterprise, 3 per minute, 90 per day\nminute: 3 of 3 left\nday: 90 of 90 left\nnot banned\n`,
    );
    await drain(server, key, 4);
    await until(async () => {
      const shown = JSON.stringify(await json(`quota show ${id}`));
      return /"quota":3,"remaining":0,"resetAt":"[^"]+Z".*"quota":90,"remaining":87,.*"bannedUntil":null/.test(shown);
    });
    assert.match(await output(`quota show ${id}`), /: 0 of 3 left, full again \S+Z\nday: /);
    assert.equal(await output(`quota reset ${id}`), `${id} has its full quotas again (quotas in ${place})\n`);
    await until(async () => (await server.get(key)).status === 200);
  });

  test('"ban set" bans a key on a running server, and "ban lift" ends the ban', async (t) => {
    const { cwd, output } = programIn({ env });
    const server = await startServer(t, { cwd, env });
    const { key, id } = await issueKey(cwd, 'business');
    const beforeMs = Date.now();
    const banned = await output(`ban set ${id} --for 10m`);
    const [, until10m = '', where] = /^key_\w{10} is banned until (\S+Z) \(quotas in (\S+)\)\n$/.exec(banned) ?? [];
    assert.equal(where, place);
    const untilMs = Date.parse(until10m);
    assert.ok(untilMs >= beforeMs + 600_000 && untilMs <= Date.now() + 600_000, until10m);

    await until(async () => (await server.get(key)).status === 429);
    const refused = await server.get(key);
    assert.match(await refused.text(), /"code":"api_key_banned"/);
    const seconds = Number(refused.headers.get('retry-after'));
    assert.ok(seconds > 580 && seconds <= 600, `${seconds}`);
    assert.match(await output(`quota show ${id}`), /\nbanned until \S+Z\n$/);
    assert.match(await output('quota list'), new RegExp(`\n${id}  business .* \\d+ of 1000 per minute .*\\S+Z\n$`));

    assert.equal(await output(`ban lift ${id}`), `${id} is no longer banned (quotas in ${place})\n`);
    await until(async () => (await server.get(key)).status === 200);
  });

  test('a restarted server keeps the used quotas, and applies commands that were given while no server ran', async (t) => {
    const { cwd, output } = programIn({ env });
    const first = await startServer(t, { cwd, env });
    const keys = await Promise.all(Array.from({ length: 3 }, () => issueKey(cwd, 'enterprise', '--per-day', '10')));
    const [used, reset, banned] = keys.map(({ key, id }) => ({ key, id }));
    assert.ok(used && reset && banned);
    await drain(first, used.key, 4);
    await drain(first, reset.key, 11);
    assert.equal(await first.stop('SIGTERM'), 0);
    await output(`quota reset ${reset.id}`);
    assert.match(await output(`quota show ${reset.id}`), /day: 10 of 10 left\n/);
    await output(`ban set ${banned.id} --for 1h`);
    assert.match(await output(`quota show ${banned.id}`), /\nbanned until \S+Z\n$/);

    const second = await startServer(t, { cwd, env });
    assert.equal(await remaining(second, used.key), '5');
    assert.equal(await remaining(second, reset.key), '9');
    assert.match(await (await second.get(banned.key)).text(), /"code":"api_key_banned"/);
  });
}

suite('the quota and ban commands, with quotas in the file', () => testQuotaCommands({}, 'store-orders.db'));

suite('the quota and ban commands, with quotas in Redis', { skip }, async () => {
  const redis = await startRedis();
  after(() => redis.stop());
  const url = `redis://127.0.0.1:${redis.port}`;
  testQuotaCommands({ REDIS_URL: url, ...PATIENT }, url);
});
