import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { answerOf, issueKey, run, startServer } from '../support/program.js';

/** On Linux, every write to this device fails as if the disk were full. */
const FULL = '/dev/full';

test('a command whose output cannot be written prints one error line and exits with 1', {
  skip: !existsSync(FULL),
}, async () => {
  const under = ['sh', '-c', `exec "$@" > ${FULL}`, 'sh'];
  for (const command of ['--help', 'keys create --plan free']) {
    const { code, stderr } = await run(command.split(' '), { cwd: temporaryDirectory(), under });
    assert.equal(code, 1);
    assert.match(stderr, /^store-orders: cannot write to stdout: ENOSPC\b.*\n$/);
  }
});

test('a rotated key keeps its id, plan and used quotas, and its old secret is refused within a second', async (t) => {
  const cwd = temporaryDirectory();
  const server = await startServer(t, { cwd });
  const old = await issueKey(cwd, 'enterprise', '--per-day', '999', '--name', 'Ann');
  let served = 0;
  const ask = async () => {
    const { status } = await server.get(old.key);
    if (status === 200) served++;
    return status;
  };
  for (let i = 0; i < 4; i++) await ask();
  const rotated = await answerOf(['keys', 'rotate', old.id], { cwd });
  assert.ok(typeof rotated === 'object' && rotated !== null && 'key' in rotated && typeof rotated.key === 'string');
  const { key } = rotated;
  assert.deepEqual({ ...rotated, key: old.key }, { ...old });
  await until(async () => (await ask()) === 401, 1_000);
  assert.equal((await server.get(key)).headers.get('x-ratelimit-remaining'), `${999 - served - 1}`);
  const shown = await run(['keys', 'rotate', old.id], { cwd });
  assert.match(
    shown.stdout,
    /^key {3}so_\w{38}\nid {4}key_\w{10}\nplan {2}enterprise, 999 per day\n\nSave the key now\. /,
  );
});

test('the keys commands refuse an unknown or revoked key; the commands that they suggest repeat the --db option', async () => {
  const cwd = temporaryDirectory();
  const created = await run(['keys', 'create', '--plan', 'free', '--json', '--db', 'm.db'], { cwd });
  const { id } = JSON.parse(created.stdout);
  await run(['keys', 'revoke', id, '--db', 'm.db'], { cwd });
  const rows: readonly (readonly [args: readonly string[], says: string])[] = [
    [['rotate', id, '--db', 'm.db'], `${id} is already revoked`],
    [
      ['rotate', 'key_absent', '--db', 'm.db'],
      'the key key_absent does not exist; run "store-orders keys list --db m.db"',
    ],
    [
      ['revoke', 'key_absent', '--db', 'm.db'],
      'the key key_absent does not exist; run "store-orders keys list --db m.db"',
    ],
  ];
  for (const [args, says] of rows) {
    const { code, stderr } = await run(['keys', ...args], { cwd });
    assert.deepEqual([code, stderr], [1, `store-orders: ${says}\n`]);
  }
  await run(['orders', 'import', '-', '--db', 'o.db'], { cwd, input: '[]' });
  const none = await run(['keys', 'list', '--db', 'o.db'], { cwd });
  assert.equal(none.stdout, 'no keys; create one: store-orders keys create --plan free --db o.db\n');
});
