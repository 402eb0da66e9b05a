import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { createApiKey, isApiKey } from '../../dist/program/keys/api-key.js';
import { readKeyRecord } from '../../dist/program/keys/key-record.js';
import { openSqliteStorage } from '../../dist/program/storage/sqlite.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { testKeyRing } from './support/key-ring-suite.js';
import { commandsIn } from './support/program.js';

test('a new API key differs from all others and has a valid checksum; each base62 character is equally likely in it', () => {
  const keys = new Set(Array.from({ length: 4_000 }, createApiKey));
  assert.equal(keys.size, 4_000);
  const counts = new Map<string, number>();
  for (const key of keys) {
    assert.match(key, /^so_[0-9A-Za-z]{38}$/);
    assert.ok(isApiKey(key));
    for (const character of key.slice(3, 35)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  assert.equal(counts.size, 62);
  const expected = (4_000 * 32) / 62;
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // By chance alone, a chi-square value with 61 degrees of freedom exceeds 140 less than once in
  // ten million runs.
  assert.ok(chiSquare < 140, `${chiSquare}`);
});

test('a key with a wrong, missing or extra character is recognised as invalid without a database query', () => {
  const key = createApiKey();
  for (let at = 0; at < key.length; at++) {
    const other = key[at] === 'x' ? 'y' : 'x';
    assert.ok(!isApiKey(key.slice(0, at) + other + key.slice(at + 1)), `at ${at}`);
  }
  for (const text of ['', 'so_', key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`]) assert.ok(!isApiKey(text), text);
});

testKeyRing('the key ring in SQLite', (t) => {
  const file = join(temporaryDirectory(), 'keys.db');
  return () => {
    const open = openSqliteStorage(file, { create: true });
    assert.ok(open.ok);
    t.after(open.storage.close);
    return open.storage.keys;
  };
});

test("the text of a key is not stored in any file, and is not printed again after the key's creation", async () => {
  const { cwd, output, failure } = commandsIn();
  const issued = await output('keys create --plan pro --name Ann');
  const [, key = '', id = ''] =
    /^key {6}(so_\w+)\nid {7}(key_\w{10})\nplan {5}pro\n\nSave the key now\. It is not stored and cannot be shown again\.\n$/.exec(
      issued,
    ) ?? [];
  assert.ok(isApiKey(key), issued);
  assert.match(await output('keys list'), new RegExp(`\n${id} {2}\\S+Z {2}pro +"Ann"\n$`));
  assert.equal(
    await failure(`keys revoke ${key}`),
    'KEY_ID: expected the id of a key, such as key_0123456789; run "store-orders keys list"',
  );
  const files = readdirSync(cwd);
  assert.ok(files.includes('store-orders.db'));
  for (const file of files) {
    const bytes = readFileSync(join(cwd, file));
    assert.ok(!bytes.includes(key) && !bytes.includes(key.slice(3, 35)), file);
  }
});

test('a key whose stored plan is invalid is refused', () => {
  const row = { id: 'key_a', plan: 'gold', per_minute: null, per_day: null };
  assert.throws(
    () => readKeyRecord(row),
    /^Error: the key key_a is stored with an invalid plan: expected the plan free, /,
  );
});

test('a command that revokes a key waits for up to a minute while another process writes, for example an import', async (t) => {
  const file = join(temporaryDirectory(), 'a.db');
  const opened = openSqliteStorage(file, { create: true });
  assert.ok(opened.ok);
  const { keys, close } = opened.storage;
  const { id } = await keys.create({ name: 'free' });
  const other = openSqliteDatabase(file);
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pass = async (ms: number) => {
    nowMs += ms;
    t.mock.timers.tick(ms);
    await nextTurn();
  };
  for (const [waitsMs, outcome] of [
    [60_000, 'busy'],
    [59_000, 'changed'],
  ] as const) {
    other.exec('BEGIN IMMEDIATE');
    const revoked = keys.revoke(id).catch(() => 'busy');
    await nextTurn();
    await pass(waitsMs);
    other.exec('COMMIT');
    await pass(1_000);
    assert.equal(await revoked, outcome);
  }
  other.close();
  await close();
});
