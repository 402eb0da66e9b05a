import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../support/until.js';
import { issueKey, programIn, remaining, startServer } from '../support/program.js';

test('with --json, the keys commands print one JSON value, which is a message after a failure', async () => {
  const { cwd, run, output, json } = programIn();
  assert.deepEqual(Object.keys(Object(await json('keys create --plan business'))), ['key', 'id', 'plan', 'createdAt']);
  const { id } = await issueKey(cwd, 'enterprise', '--per-minute', '5', '--per-day', '100', '--name', 'Bea');
  const { createdAt, ...changed } = Object(await json(`keys set-plan ${id} --plan enterprise --per-day 9`));
  assert.deepEqual(changed, { id, name: 'Bea', plan: 'enterprise', perDay: 9 });
  assert.equal(await output(`keys revoke ${id}`), `${id} is revoked\n`);
  assert.deepEqual(await run(`keys revoke ${id} --json`), {
    code: 1,
    stdout: `{"error":"${id} is already revoked"}\n`,
    stderr: `store-orders: ${id} is already revoked\n`,
  });
  const [first, { revokedAt, ...second }] = Object(await json('keys list'));
  assert.equal(first.plan, 'business');
  assert.deepEqual(second, { createdAt, ...changed });
  assert.match(await output('keys list'), new RegExp(`enterprise, 9 per day {2}${revokedAt} {2}"Bea"\n$`));
});

test('a running server notices a new plan, a rotation and a revocation; a rotated key keeps its quotas', async (t) => {
  const { cwd, output, json } = programIn();
  const server = await startServer(t, { cwd });
  const old = await issueKey(cwd, 'business', '--name', 'Ann');
  let served = 0;
  const ask = async () => {
    const { status, headers } = await server.get(old.key);
    if (status === 200) served++;
    return `${status}, limit ${headers.get('x-ratelimit-limit')}`;
  };
  assert.equal(await ask(), '200, limit 1000');
  await output(`keys set-plan ${old.id} --plan enterprise --per-day 999`);
  await until(async () => (await ask()) === '200, limit 999');
  const { key, ...rotated } = Object(await json(`keys rotate ${old.id}`));
  const { id, name, plan, perDay } = rotated;
  assert.deepEqual({ id, name, plan, perDay }, { id: old.id, name: 'Ann', plan: 'enterprise', perDay: 999 });
  await until(async () => (await ask()).startsWith('401'));
  assert.equal(await remaining(server, key), `${999 - served - 1}`);
  await output(`keys revoke ${id}`);
  await until(async () => (await server.get(key)).status === 401);
  assert.ok(![key, old.key].some((secret) => server.stdout().includes(secret)), 'the log contains no key');
});

test('the keys commands refuse an unknown or revoked key; the commands that they suggest repeat the --db option', async () => {
  const { json, output, failure } = programIn();
  const { id } = Object(await json('keys create --plan free --db m.db'));
  await output(`keys revoke ${id} --db m.db`);
  assert.equal(await failure(`keys rotate ${id} --db m.db`), `${id} is already revoked`);
  for (const command of ['rotate key_absent', 'revoke key_absent', 'set-plan key_absent --plan free']) {
    assert.equal(
      await failure(`keys ${command} --db m.db`),
      'the key key_absent does not exist; run "store-orders keys list --db m.db"',
    );
  }
  await output(['orders', 'import', '-', '--db', 'my shop.db'], '[]');
  assert.equal(
    await output(['keys', 'list', '--db', 'my shop.db']),
    'no keys; create one: store-orders keys create --plan free --db "my shop.db"\n',
  );
});
