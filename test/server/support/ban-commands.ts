import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { answerOf, issueKey, run, startServer } from './program.js';
import { drain, type Place } from './quota-commands.js';

/** Tests the commands that ban keys and list quotas, for quotas in a file or in Redis. */
export function testBanCommands({ name, env, place }: Place): void {
  test(`"ban set" bans a key on a running server within a second, and "ban lift" ends the ban: ${name}`, async (t) => {
    const options = { cwd: temporaryDirectory(), env: env() };
    const server = await startServer(t, options);
    const { key, id } = await issueKey(options.cwd, 'free');
    await drain(server, key, 2);
    const beforeMs = Date.now();
    const { code, stdout } = await run(['ban', 'set', id, '--for', '10m'], options);
    const afterMs = Date.now();
    assert.equal(code, 0);
    const [, until10m = '', where = ''] =
      /^key_\w{10} is banned until (\S+Z) \(quotas in (\S+)\)\n$/.exec(stdout) ?? [];
    assert.equal(where, place());
    const untilMs = Date.parse(until10m);
    assert.ok(untilMs >= beforeMs + 600_000 && untilMs <= afterMs + 600_000, until10m);

    await until(async () => (await server.get(key)).status === 429, 1_000);
    const refused = await server.get(key);
    assert.match(await refused.text(), /"code":"api_key_banned"/);
    const seconds = Number(refused.headers.get('retry-after'));
    assert.ok(seconds > 580 && seconds <= 600, `${seconds}`);
    assert.match((await run(['quota', 'show', id], options)).stdout, /\nbanned until \S+Z\n$/);

    await run(['ban', 'lift', id], options);
    await until(async () => (await server.get(key)).status === 200, 1_500);
  });

  test(`a server applies a ban that was set before the server started: ${name}`, async (t) => {
    const options = { cwd: temporaryDirectory(), env: env() };
    const { key, id } = await issueKey(options.cwd, 'free');
    await answerOf(['ban', 'set', id, '--for', '1h'], options);
    assert.match((await run(['quota', 'show', id], options)).stdout, /\nbanned until \S+Z\n$/);
    const server = await startServer(t, options);
    assert.match(await (await server.get(key)).text(), /"code":"api_key_banned"/);
  });

  test(`"quota list" prints banned keys first, then the keys nearest their limit: ${name}`, async (t) => {
    const options = { cwd: temporaryDirectory(), env: env() };
    const { cwd } = options;
    const server = await startServer(t, options);
    const none = await run(['quota', 'list'], options);
    assert.deepEqual(none, { code: 0, stdout: 'no key has used any of its quotas\n', stderr: '' });
    const unused = await issueKey(cwd, 'free');
    const half = await issueKey(cwd, 'enterprise', '--per-minute', '100', '--per-day', '8', '--name', 'half');
    const near = await issueKey(cwd, 'enterprise', '--per-day', '5');
    const banned = await issueKey(cwd, 'free');
    const revoked = await issueKey(cwd, 'free');
    await drain(server, half.key, 4);
    await drain(server, near.key, 4);
    await drain(server, revoked.key, 2);
    await run(['keys', 'revoke', revoked.id], options);
    await run(['ban', 'set', banned.id, '--for', '7d'], options);
    const ids = async (...args: readonly string[]) => {
      const listed = await answerOf(['quota', 'list', ...args], options);
      assert.ok(Array.isArray(listed));
      return listed.map(({ id }) => id);
    };
    const expected = [banned.id, near.id, half.id];
    await until(async () => JSON.stringify(await ids()) === JSON.stringify(expected), 3_000);
    assert.deepEqual(await ids('--limit', '2'), [banned.id, near.id]);
    const { stdout } = await run(['quota', 'list'], options);
    const lines = stdout.trimEnd().split('\n');
    assert.match(lines[0] ?? '', /^KEY +PLAN +LEFT +FULL AGAIN +BANNED UNTIL +NAME$/);
    assert.match(lines[1] ?? '', new RegExp(`^${banned.id} +free .* \\S+Z$`));
    assert.match(lines[2] ?? '', new RegExp(`^${near.id} +enterprise +1 of 5 per day +\\S+Z$`));
    assert.match(lines[3] ?? '', new RegExp(`^${half.id} +enterprise +4 of 8 per day +\\S+Z +"half"$`));
    assert.ok(!stdout.includes(unused.id) && !stdout.includes(revoked.id));
  });
}
