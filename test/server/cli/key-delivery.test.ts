import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { answerOf, issueKey, MAIN, run, spawnProgram, startServer } from '../support/program.js';

/** On Linux, every write to this device fails as if the disk were full. */
const FULL = '/dev/full';

async function intoFull(cwd: string, ...args: readonly string[]): Promise<{ code: unknown; stderr: string }> {
  const full = openSync(FULL, 'w');
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const exited = once(child, 'exit');
  const stderr = child.stderr === null ? '' : await text(child.stderr);
  const [code] = await exited;
  return { code, stderr };
}

test('a new key is revoked if a full disk prevents printing it', { skip: !existsSync(FULL) }, async () => {
  const cwd = temporaryDirectory();
  for (const json of [[], ['--json']]) {
    const { code, stderr } = await intoFull(cwd, 'keys', 'create', '--plan', 'free', ...json);
    assert.equal(code, 1);
    assert.match(stderr, /^store-orders: cannot write the new key to stdout; key_\w{10} is revoked\n$/);
  }
  const list = await run(['keys', 'list'], { cwd });
  assert.match(list.stdout, /^KEY .* REVOKED .*\n(?:key_\w+ .*Z\n){2}$/);
});

test('a new key is revoked if a closed pipe prevents printing it', async () => {
  const cwd = temporaryDirectory();
  await answerOf(['orders', 'import', '-'], { cwd, input: '[]' });
  const child = spawnProgram(['keys', 'create', '--plan', 'free'], { cwd });
  child.stdout?.destroy();
  const [code] = await once(child, 'close');
  assert.equal(code, 1);
  assert.match((await run(['keys', 'list'], { cwd })).stdout, /\nkey_\w+ .*Z\n$/);
});

test('a command whose output cannot be written prints one error line and exits with 1', {
  skip: !existsSync(FULL),
}, async () => {
  const { code, stderr } = await intoFull(temporaryDirectory(), '--help');
  assert.equal(code, 1);
  assert.match(stderr, /^store-orders: cannot write to stdout: ENOSPC\b.*\n$/);
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
