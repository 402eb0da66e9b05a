import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMemoryLimiter, createSystemClock } from 'store-orders';
import { commandLine, parseCommand } from '../../../dist/program/commands/command.js';
import { banCommands } from '../../../dist/program/commands/quotas/commands.js';
import { serveCommand } from '../../../dist/program/commands/serve.js';
import { toPlan } from '../../../dist/program/keys/key-plan.js';
import { requireTable, withSavedQuotas } from '../../../dist/program/quotas/saved-quotas.js';
import { openSqliteStorage } from '../../../dist/program/storage/sqlite.js';
import { until } from '../../support/until.js';
import { change } from '../support/change.js';
import { commandsIn, issueKey, startServer } from '../support/program.js';

test('with --json, the keys commands print one JSON value, which is a message after a failure', async () => {
  const { cwd, run, output, json } = commandsIn();
  assert.deepEqual(Object.keys(Object(await json('keys create --plan business'))), ['key', 'id', 'plan', 'createdAt']);
  const { id } = await issueKey(cwd, 'enterprise', '--per-minute', '5', '--per-day', '100', '--name', 'Bea');
  assert.equal(await output(`keys set-plan ${id} --plan pro`), `${id} now has the plan pro\n`);
  const { createdAt, ...changed } = Object(await json(`keys set-plan ${id} --plan enterprise --per-day 9`));
  assert.deepEqual(changed, { id, name: 'Bea', plan: 'enterprise', perDay: 9 });
  const { key, ...rotated } = Object(await json(`keys rotate ${id}`));
  assert.match(key, /^so_\w{38}$/);
  assert.deepEqual(rotated, { createdAt, ...changed });
  assert.equal(await output(`keys revoke ${id}`), `${id} is revoked\n`);
  assert.deepEqual(await run(`keys revoke ${id} --json`), {
    code: 1,
    stdout: `{"error":"${id} is already revoked"}\n`,
    stderr: `store-orders: ${id} is already revoked\n`,
  });
  const [first, { revokedAt, ...second }] = Object(await json('keys list'));
  assert.equal(first.plan, 'business');
  assert.deepEqual(second, { createdAt, ...changed });
  assert.equal(
    await output('keys list'),
    `KEY             CREATED                   PLAN                   EXPIRES  REVOKED                   NAME
${first.id}  ${first.createdAt}  business
${id}  ${createdAt}  enterprise, 9 per day           ${revokedAt}  "Bea"
`,
  );
});

test('a running server refuses a key that is revoked, and from its expiry on, with the same 401', async (t) => {
  const { cwd, output, json, misuse, failure } = commandsIn();
  const server = await startServer(t, { cwd });
  const { key, id } = Object(await json('keys create --plan free --expires 1h'));
  assert.equal((await server.get(key)).status, 200);
  const expiresAt = new Date().toISOString();
  change(join(cwd, 'store-orders.db'), `UPDATE keys SET expires_at = '${expiresAt}' WHERE id = '${id}'`);
  await until(async () => (await server.get(key)).status === 401);
  const instead = 'create a new key with "store-orders keys create"';
  assert.equal(await failure(`keys rotate ${id}`), `${id} has expired; ${instead}`);
  const { id: revoked, key: other } = await issueKey(cwd, 'free');
  assert.equal((await server.get(other)).status, 200);
  await output(`keys revoke ${revoked}`);
  await until(async () => (await server.get(other)).status === 401);
  const [body, expected] = await Promise.all([key, other].map(async (each) => (await server.get(each)).text()));
  assert.equal(body, expected);
  assert.match(await output('keys list'), new RegExp(`\n${id} .* free +${expiresAt}\n`));
  assert.match(await output('keys create --plan pro --expires 90d'), /\nplan {5}pro\nexpires {2}20\S+Z\n\nSave/);
  const why = 'expected a time up to 3650d, such as 90s, 10m, 2h or 7d, not';
  assert.equal(await misuse('keys create --plan free --expires 3651d'), `--expires: ${why} "3651d"`);
});

test('the keys commands refuse an unknown or revoked key; the commands that they suggest repeat the options of the storage', async () => {
  const { json, output, failure } = commandsIn();
  const { id } = Object(await json('keys create --plan free --db m.db'));
  await output(`keys revoke ${id} --db m.db`);
  assert.equal(await failure(`keys rotate ${id} --db m.db`), `${id} is already revoked`);
  assert.equal(await output('quota list --db m.db'), 'no key has used any of its quotas\n');
  for (const command of ['keys rotate', 'keys revoke', 'keys set-plan --plan free', 'quota show', 'ban lift']) {
    assert.equal(
      await failure(`${command} key_absent --db m.db`),
      'the key key_absent does not exist; run "store-orders keys list --db m.db"',
    );
  }
  // The keys commands have no option --redis-url.
  const options = ['--redis-url', 'redis://h', '--database-url', 'postgres://a:b@h/c', '--config', 'my shop.json'];
  const invocation = parseCommand(serveCommand, options, { npm_lifecycle_event: 'npx' });
  assert.equal(
    commandLine(invocation, 'keys list'),
    'npx store-orders keys list --config "my shop.json" --database-url URL',
  );
  await output(['orders', 'import', '-', '--db', 'my shop.db'], '[]');
  assert.equal(
    await output(['keys', 'list', '--db', 'my shop.db']),
    'no keys; create one: store-orders keys create --plan free --db "my shop.db"\n',
  );
});

test('"quota list" prints the 20 keys nearest their limit, or as many as --limit asks for, banned keys first; a ban takes up to a year', async () => {
  const { cwd, output, json } = commandsIn();
  const db = join(cwd, 'store-orders.db');
  const opened = openSqliteStorage(db, { create: true });
  assert.ok(opened.ok);
  const { keys, quotas, close } = opened.storage;
  const clock = createSystemClock();
  const saved = await withSavedQuotas(createMemoryLimiter({ clock }), clock, requireTable(quotas));
  const plan = { name: 'enterprise', perMinute: 300, perDay: 1_000 } as const;
  const ids: string[] = [];
  for (let taken = 1; taken <= 110; taken++) {
    const { id } = await keys.create(plan, { name: 'Ann' });
    saved.take(id, toPlan(plan), taken);
    ids.unshift(id);
  }
  await saved.save();
  await close();
  const [first = '', second = '', ...others] = ids;

  const [head, ...rows] = (await output('quota list')).trimEnd().split('\n');
  assert.equal(head, 'KEY             PLAN                         LEFT  FULL AGAIN                BANNED UNTIL  NAME');
  const [fullAgain = ''] = /\b20\S+Z/.exec(rows[0] ?? '') ?? [];
  const leftMs = Date.parse(fullAgain) - Date.now();
  assert.ok(leftMs > 0 && leftMs < 62_000, fullAgain);
  assert.deepEqual(
    rows.map((row) => row.replace(/ 20\S+Z/, ' at')),
    ids.slice(0, 20).map((id, n) => `${id}  enterprise  ${190 + n} of 300 per minute  at                "Ann"`),
  );
  const [set = assert.fail()] = banCommands;
  for (const [time, ms] of Object.entries({ '90s': 90_000, '10m': 6e5, '2h': 7.2e6, '365d': 31_536_000_000 })) {
    const result = await set.run(parseCommand(set, [second, '--for', time, '--db', db], {}));
    const banMs = Date.parse(JSON.parse(Object(result).json).bannedUntil) - Date.now();
    assert.ok(banMs > ms - 5_000 && banMs <= ms, `${time}: ${banMs}`);
  }
  const listed = Object(await json('quota list --limit 109'));
  const ids109 = listed.map(({ id }: { readonly id: string }) => id);
  assert.deepEqual(ids109, [second, first, ...others.slice(0, 107)]);
  const { bannedUntil, windows } = listed[0];
  assert.ok(Math.abs(Date.parse(bannedUntil) - Date.now() - 31_536_000_000) < 10_000);
  const day = { name: 'day', quota: 1_000, remaining: 891, resetAt: windows[1].resetAt };
  assert.deepEqual(listed[0], { id: second, plan: 'enterprise', windows: [windows[0], day], bannedUntil });
  assert.deepEqual(await json('ban list'), [listed[0]]);
  assert.deepEqual(await json(`ban lift ${second}`), { id: second, done: 'lift_ban' });
  assert.equal(await output('ban list'), 'no key is banned\n');
  assert.deepEqual(await json(`quota reset ${second}`), { id: second, done: 'reset' });
  await output(`keys revoke ${first}`);
  assert.equal(Object(await json('quota list'))[0].id, others[0], 'neither an unused nor a revoked key is listed');
});
