import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createManualClock } from 'store-orders/testing';
import { createApiKey, isApiKey } from '../../../dist/server/keys/api-key.js';
import type { KeyRecord } from '../../../dist/server/keys/key-record.js';
import { createKeyRing } from '../../../dist/server/keys/key-ring.js';
import { openSqliteStorage } from '../../../dist/server/storage/sqlite.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { testKeyRing } from '../support/key-ring-suite.js';
import { answerOf, issueKey, run, startServer } from '../support/program.js';

test('a new API key has the right prefix, the right length and a valid checksum, and differs from all others', () => {
  const keys = new Set(Array.from({ length: 1_000 }, createApiKey));
  assert.equal(keys.size, 1_000);
  for (const key of keys) {
    assert.match(key, /^so_[0-9A-Za-z]{38}$/);
    assert.ok(isApiKey(key));
  }
});

test('a key with a wrong, missing or extra character is recognised as invalid without a database query', () => {
  const key = createApiKey();
  for (let at = 0; at < key.length; at++) {
    const other = key[at] === 'x' ? 'y' : 'x';
    assert.ok(!isApiKey(key.slice(0, at) + other + key.slice(at + 1)), `at ${at}`);
  }
  for (const text of ['', 'so_', key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`]) assert.ok(!isApiKey(text), text);
});

test('each base62 character is equally likely in a new key', () => {
  const counts = new Map<string, number>();
  for (let i = 0; i < 4_000; i++) {
    for (const character of createApiKey().slice(3, 35)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  assert.equal(counts.size, 62);
  const expected = (4_000 * 32) / 62;
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // By chance alone, a chi-square value with 61 degrees of freedom exceeds 140 less than once in
  // ten million runs.
  assert.ok(chiSquare < 140, `${chiSquare}`);
});

testKeyRing('the key ring in SQLite', (t) => {
  const file = join(temporaryDirectory(), 'keys.db');
  return () => {
    const open = openSqliteStorage(file, { create: true });
    assert.ok(open.ok);
    t.after(open.data.close);
    return open.data.keys;
  };
});

test("the text of a key is not stored in any file, and is not printed again after the key's creation", async () => {
  const cwd = temporaryDirectory();
  const { code, stdout } = await run(['keys', 'create', '--plan', 'pro', '--name', 'Ann'], { cwd });
  assert.equal(code, 0);
  const key = /^key {3}(so_\w+)$/m.exec(stdout)?.[1] ?? '';
  assert.ok(isApiKey(key));
  assert.match(stdout, /^id {4}key_\w{10}$/m);
  assert.match(stdout, /not stored and cannot be shown again/);

  const list = await run(['keys', 'list'], { cwd });
  assert.match(list.stdout, /\nkey_\w{10} {2}\S+Z {2}pro +"Ann"\n$/);
  const revoke = await run(['keys', 'revoke', key], { cwd });
  assert.deepEqual(
    [revoke.code, revoke.stderr],
    [1, 'store-orders: KEY_ID: expected the id of a key, such as key_0123456789; run "store-orders keys list"\n'],
  );
  const files = readdirSync(cwd);
  assert.ok(files.includes('store-orders.db'));
  for (const file of files) {
    const bytes = readFileSync(join(cwd, file));
    assert.ok(!bytes.includes(key) && !bytes.includes(key.slice(3, 35)), file);
  }
});

test('with --json, the key commands print one JSON value', async () => {
  const cwd = temporaryDirectory();
  assert.deepEqual(Object.keys(await issueKey(cwd, 'business')), ['key', 'id', 'plan', 'createdAt']);
  const { id } = await issueKey(cwd, 'enterprise', '--per-minute', '5', '--per-day', '100', '--name', 'Bea');
  const changed = await answerOf(['keys', 'set-plan', id, '--plan', 'enterprise', '--per-day', '9'], { cwd });
  assert.ok(typeof changed === 'object' && changed !== null && 'createdAt' in changed);
  const { createdAt } = changed;
  assert.deepEqual(changed, { id, name: 'Bea', plan: 'enterprise', perDay: 9, createdAt });
  const revoked = await run(['keys', 'revoke', id], { cwd });
  assert.deepEqual(revoked, { code: 0, stdout: `${id} is revoked\n`, stderr: '' });
  const again = await run(['keys', 'revoke', id, '--json'], { cwd });
  assert.deepEqual(again, {
    code: 1,
    stdout: `{"error":"${id} is already revoked"}\n`,
    stderr: `store-orders: ${id} is already revoked\n`,
  });
  const absent = await run(['keys', 'set-plan', 'key_absent', '--plan', 'free'], { cwd });
  assert.deepEqual(
    [absent.code, absent.stderr],
    [1, 'store-orders: the key key_absent does not exist; run "store-orders keys list"\n'],
  );
  const list = await answerOf(['keys', 'list'], { cwd });
  assert.ok(Array.isArray(list));
  assert.deepEqual(
    list.map(({ plan, name, perDay }) => ({ plan, name, perDay })),
    [
      { plan: 'business', name: undefined, perDay: undefined },
      { plan: 'enterprise', name: 'Bea', perDay: 9 },
    ],
  );
  assert.match((await run(['keys', 'list'], { cwd })).stdout, /enterprise, 9 per day {2}\S+Z {2}"Bea"\n$/);
});

test('the key commands refuse an unknown plan or wrong quotas of a plan, and exit with 2', async () => {
  const cwd = temporaryDirectory();
  const rows: readonly (readonly [args: readonly string[], says: string])[] = [
    [['--plan', 'gold'], '--plan: expected the plan free, pro, business or enterprise, not "gold"'],
    [
      ['--plan', 'enterprise'],
      '--plan: the plan enterprise has no default quotas; set a quota per minute, per day or both',
    ],
    [
      ['--plan', 'free', '--per-day', '5'],
      '--plan: the plan free has fixed quotas; only the plan enterprise can have other quotas',
    ],
    [['--plan', 'enterprise', '--per-day', '0'], '--per-day: expected a whole number from 1 to 1000000000, not "0"'],
    [
      ['--plan', 'enterprise', '--per-minute', '9999999999'],
      '--per-minute: expected a whole number from 1 to 1000000000, not "9999999999"',
    ],
  ];
  for (const [args, says] of rows) {
    assert.deepEqual(await run(['keys', 'create', ...args], { cwd }), {
      code: 2,
      stdout: '',
      stderr: `store-orders: ${says}\n`,
    });
    assert.equal((await run(['keys', 'set-plan', 'key_absent', ...args], { cwd })).code, 2);
  }
  assert.deepEqual(readdirSync(cwd), [], 'no database is created');
});

test('"keys create" and "keys set-plan" require a plan', async () => {
  const cwd = temporaryDirectory();
  for (const command of ['keys create', 'keys set-plan key_absent']) {
    const { code, stderr } = await run(command.split(' '), { cwd });
    const help = `run "store-orders ${command.split(' ').slice(0, 2).join(' ')} --help"`;
    assert.deepEqual([code, stderr], [2, `store-orders: missing required option --plan PLAN; ${help}\n`]);
  }
});

test('a request that comes more than a second after a revocation does not join an older look-up', async () => {
  const clock = createManualClock();
  let record: KeyRecord | undefined = { id: 'key_ann', plan: { name: 'free' }, createdAt: '' };
  const replies: (() => void)[] = [];
  const reads = {
    byDigest() {
      const found = record;
      return new Promise<KeyRecord | undefined>((resolve) => replies.push(() => resolve(found)));
    },
  };
  const ring = createKeyRing(reads as never, {} as never, { clock });
  const key = createApiKey();
  const before = ring.authenticate(key);
  record = undefined;
  clock.advance(1_001);
  const after = ring.authenticate(key);
  for (const reply of replies.toReversed()) reply();
  assert.equal((await before)?.id, 'key_ann');
  assert.equal(await after, undefined);
  const next = ring.authenticate(key);
  for (const reply of replies) reply();
  assert.equal(await next, undefined);
});

test('a running server notices within a second that another process has created, changed or revoked a key', async (t) => {
  const cwd = temporaryDirectory();
  const server = await startServer(t, { cwd });
  const { key, id } = await issueKey(cwd, 'free');
  const limit = async () => (await server.get(key)).headers.get('x-ratelimit-limit');
  await until(async () => (await limit()) === '60', 1_000);
  await run(['keys', 'set-plan', id, '--plan', 'pro'], { cwd });
  await until(async () => (await limit()) === '300', 1_000);
  await run(['keys', 'revoke', id], { cwd });
  await until(async () => (await server.get(key)).status === 401, 1_000);
  assert.ok(!server.stdout().includes(key), 'the log contains no key');
});
