import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createMemoryLimiter, createMemoryOrderStore, createOrderService } from 'store-orders';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { createManualClock } from 'store-orders/testing';
import { createApiKey, isApiKey } from '../../dist/program/keys/api-key.js';
import { type KeyRecord, readKeyRecord } from '../../dist/program/keys/key-record.js';
import { createKeyRing } from '../../dist/program/keys/key-ring.js';
import { openSqliteStorage } from '../../dist/program/storage/sqlite.js';
import { temporaryDirectory } from '../support/temporary-file.js';
import { testKeyRing } from './support/key-ring-suite.js';
import { commandsIn } from './support/program.js';

const ANN: KeyRecord = { id: 'key_ann', plan: { name: 'free' }, createdAt: '' };

const LATE = new Error('late');

/** Opens a key ring on a table that can only be searched. The error LATE means that no key can change. */
function open(byDigest: () => Promise<KeyRecord | undefined>) {
  const clock = createManualClock();
  const isUnchangeable = (error: unknown) => error === LATE;
  return { clock, ring: createKeyRing({ byDigest } as never, {} as never, { clock, isUnchangeable }) };
}

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

test('however many requests a key sends, it is looked up once in 900 ms; it stays valid while no process can change it', async () => {
  let answer: () => KeyRecord | undefined = () => ANN;
  let asked = 0;
  const { ring, clock } = open(async () => {
    asked++;
    return answer();
  });
  const key = createApiKey();
  const ask = () => Promise.all([1, 2, 3].map(() => ring.authenticateKnown(key) ?? ring.authenticate(key)));
  const [ann] = await ask();
  clock.advance(900);
  await ask();
  assert.deepEqual([ann?.id, asked], ['key_ann', 1]);
  clock.advance(1);
  answer = () => assert.fail(LATE);
  assert.deepEqual(await ask(), [ann, ann, ann]);
  answer = () => assert.fail('down');
  await assert.rejects(ask(), { message: 'down' });
  await assert.rejects(async () => ring.authenticateKnown(key), { message: 'down' });
  assert.equal(asked, 4, 'the key is still known');
  answer = () => undefined;
  assert.deepEqual(await ask(), [undefined, undefined, undefined]);
  assert.deepEqual([ring.authenticateKnown(key), asked], [undefined, 5]);
  answer = () => assert.fail(LATE);
  assert.deepEqual(await ask(), [undefined, undefined, undefined]);
  assert.equal(asked, 6, 'an unknown key may be issued at any moment');
});

test('an agreed plan is one object while its quotas are the same, however often its key is looked up', async () => {
  let perMinute = 5;
  const { ring, clock } = open(async () => ({ ...ANN, plan: { name: 'enterprise', perMinute } }));
  const key = createApiKey();
  const planLater = async () => {
    clock.advance(901);
    return (await ring.authenticate(key))?.plan;
  };
  const plan = await planLater();
  assert.ok(plan !== undefined && plan === (await planLater()));
  perMinute = 6;
  assert.deepEqual(
    (await planLater())?.policies.map(({ quota }) => quota),
    [6],
  );
});

test('a key is refused from the millisecond of its expiry on, even while the disk hangs', async () => {
  const expiresAt = new Date(Date.UTC(2026, 0) + 901).toISOString();
  let answer = (): KeyRecord => ({ ...ANN, expiresAt });
  const { ring, clock } = open(async () => answer());
  const [used, unused] = [createApiKey(), createApiKey()];
  clock.advance(900);
  assert.equal((await ring.authenticate(used))?.id, 'key_ann');
  clock.advance(1);
  assert.equal(await ring.authenticate(unused), undefined);
  clock.advance(900);
  answer = () => assert.fail(LATE);
  assert.equal(await ring.authenticate(used), undefined);
});

test('the cache has the 10,000 valid keys that were used last, however many guessed keys are looked up', async () => {
  let answer: KeyRecord | undefined = ANN;
  const { ring } = open(async () => answer);
  const keys = Array.from({ length: 20_002 }, createApiKey);
  for (const key of keys.slice(0, 10_001)) await ring.authenticate(key);
  answer = undefined;
  for (const key of keys.slice(10_001)) await ring.authenticate(key);
  const isKnown = (key: string) => ring.authenticateKnown(key) !== undefined;
  assert.deepEqual(keys.slice(0, 2).map(isKnown), [false, true]);
});

test('a key whose stored plan is invalid is refused', () => {
  const row = { id: 'key_a', plan: 'gold', per_minute: null, per_day: null };
  assert.throws(
    () => readKeyRecord(row),
    /^Error: the key key_a is stored with an invalid plan: expected the plan free, /,
  );
});

/** Opens a key ring whose look-ups last until the test ends them. Each finds the key as it was when the look-up began. */
function openSlow() {
  let record: KeyRecord | undefined = ANN;
  const ends: (() => void)[] = [];
  const opened = open(() => {
    const found = record;
    return new Promise((resolve) => ends.push(() => resolve(found)));
  });
  const revoke = () => {
    record = undefined;
  };
  return { ...opened, ends, revoke };
}

test('a request joins no look-up that began 900 ms earlier, because the key may have been revoked since', async () => {
  const { ring, clock, ends, revoke } = openSlow();
  const key = createApiKey();
  const before = ring.authenticate(key);
  revoke();
  clock.advance(900);
  const after = ring.authenticate(key);
  for (const end of ends.toReversed()) end();
  assert.equal((await before)?.id, 'key_ann');
  assert.equal(await after, undefined);
  clock.advance(1);
  const next = ring.authenticate(key);
  for (const end of ends) end();
  assert.equal(await next, undefined);
});

test('a look-up that is too slow to be shared does not end the sharing of the next one', async () => {
  const { ring, clock, ends } = openSlow();
  const key = createApiKey();
  const first = ring.authenticate(key);
  clock.advance(1_000);
  const second = ring.authenticate(key);
  ends[0]?.();
  await first;
  const third = ring.authenticate(key);
  assert.equal(ends.length, 2);
  ends[1]?.();
  for (const shared of [second, third]) assert.equal((await shared)?.id, 'key_ann');
});

test('of 5,000 guessed keys from one address, at most a hundred beyond its quota are looked up', async () => {
  let asked = 0;
  const { ring, clock } = open(async () => void asked++);
  const { authenticate, authenticateKnown } = ring;
  const limiter = createMemoryLimiter({ clock });
  const store = createMemoryOrderStore();
  const { respond } = createOrderService({ store, limiter, authenticate, authenticateKnown });
  for (let i = 0; i < 50; i++) {
    const requests = Array.from({ length: 100 }, async () => {
      const rawHeaders = ['Host', 'orders.test', 'Authorization', `Bearer ${createApiKey()}`];
      return respond({ method: 'GET', url: '/v1/store/orders', rawHeaders }, '192.0.2.1');
    });
    await Promise.all(requests);
  }
  assert.ok(asked >= 600 && asked < 600 + 100, `${asked} were looked up`);
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
