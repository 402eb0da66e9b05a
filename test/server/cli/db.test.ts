import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, issueKey, run, startServer } from '../support/program.js';

function change(file: string, sql: string): void {
  const database = openSqliteDatabase(file);
  database.exec(sql);
  database.close();
}

/** Creates a directory with a database of `count` pending orders, whose ids begin at 1. */
async function withOrders(count: number): Promise<string> {
  const cwd = temporaryDirectory();
  const lines = Array.from({ length: count }, (_, index) => JSON.stringify({ id: index + 1, petId: 7, quantity: 1 }));
  await answerOf(['orders', 'import', '-'], { cwd, input: lines.join('\n') });
  return cwd;
}

/** Overwrites the middle of a page of the SQLite file. The page holds orders. */
function damage(file: string): void {
  const bytes = readFileSync(file);
  const pageStart = bytes.indexOf('pending', bytes.length / 2) & ~0xfff;
  writeFileSync(file, bytes.fill(0xff, pageStart + 1_500, pageStart + 2_500));
}

test('db check reports the content and the settings of an undamaged file, and does not change the file', async () => {
  const cwd = await withOrders(3);
  await run(['orders', 'ship', '2'], { cwd });
  const { id } = await issueKey(cwd, 'free');
  await issueKey(cwd, 'pro');
  await run(['keys', 'revoke', id], { cwd });
  const bytes = readFileSync(join(cwd, 'store-orders.db'));
  assert.deepEqual(await answerOf(['db', 'check'], { cwd }), {
    file: 'store-orders.db',
    orders: { total: 3, byStatus: { pending: 2, shipped: 1 } },
    keys: { total: 2, revoked: 1 },
    revision: 1,
    schema: { orders: { file: 3, program: 3 }, program: { file: 1, program: 1 } },
    journalMode: 'wal',
    pages: bytes.length / 4096,
    freePages: 0,
    pageBytes: 4096,
    fileBytes: bytes.length,
    logBytes: 0,
  });
  const { code, stdout } = await run(['db', 'check'], { cwd });
  assert.equal(code, 0);
  assert.match(stdout, /^store-orders\.db is sound\norders {4}3: 2 pending, 1 shipped\nkeys {6}2, 1 of them revoked\n/);
  assert.match(stdout, /\nschema {4}orders 3; program 1\njournal {3}wal\n/);
  assert.deepEqual(readFileSync(join(cwd, 'store-orders.db')), bytes);
  assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
});

test('db check and db backup report a damaged file and tell what to do, and db backup leaves no copy', async () => {
  const cwd = await withOrders(2_000);
  damage(join(cwd, 'store-orders.db'));
  const damaged = readFileSync(join(cwd, 'store-orders.db'));
  for (const args of [
    ['db', 'check'],
    ['db', 'backup', 'copy.db'],
  ]) {
    const { code, stdout, stderr } = await run([...args, '--json'], { cwd });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^store-orders: store-orders\.db is damaged: .+; stop the server, keep a copy of the file and its -wal file, then run db restore with a sound backup\n$/,
    );
    assert.equal(stderr, `store-orders: ${JSON.parse(stdout).error}\n`);
  }
  assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
  assert.ok(readFileSync(join(cwd, 'store-orders.db')).equals(damaged));
});

test('db check and db backup refuse an empty file', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'store-orders.db'), '');
  for (const args of [
    ['db', 'check'],
    ['db', 'backup', 'copy.db'],
  ]) {
    const { code, stderr } = await run(args, { cwd });
    assert.equal(code, 1);
    assert.match(stderr, /^store-orders: store-orders\.db has no tables; start a server on it to create them\n$/);
  }
  assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
});

test('db check and db backup accept a database that the library created, although it lacks the tables of the program', async () => {
  const cwd = temporaryDirectory();
  const store = openSqliteOrderStore(join(cwd, 'store-orders.db'));
  await store.put([{ id: 1 }]);
  await store.close();
  await answerOf(['db', 'backup', 'copy.db'], { cwd });
  for (const db of ['store-orders.db', 'copy.db']) {
    const { stdout } = await run(['db', 'check', '--db', db], { cwd });
    assert.match(stdout, /\nkeys {6}0, 0 of them revoked\n/);
    assert.match(stdout, /\nschema {4}orders 3; program 0 \(this program: 1\)\n/);
  }
});

test('db check accepts a file of version 0.1.0, with a table that this version no longer has', async () => {
  const cwd = temporaryDirectory();
  copyFileSync(new URL('../storage/formats/0.1.0.db', import.meta.url), join(cwd, 'store-orders.db'));
  const { stdout } = await run(['db', 'check'], { cwd });
  assert.match(stdout, /\nschema {4}orders 2 \(this program: 3\); program 1\n/);
});

test('db backup writes a complete database into one file, and a server can open that file', async (t) => {
  const cwd = await withOrders(2_500);
  const { key } = await issueKey(cwd, 'free');
  chmodSync(join(cwd, 'store-orders.db'), 0o600);
  const { bytes } = Object(await answerOf(['db', 'backup', 'copy.db'], { cwd }));
  const copy = statSync(join(cwd, 'copy.db'));
  assert.equal(copy.size, bytes);
  assert.equal(copy.mode & 0o777, 0o600, 'the copy has the file permissions of the original');
  assert.deepEqual(readdirSync(cwd), ['copy.db', 'store-orders.db']);
  const [original, copied] = await Promise.all(
    ['store-orders.db', 'copy.db'].map((db) => run(['orders', 'export', '--db', db], { cwd })),
  );
  assert.equal(copied?.stdout, original?.stdout);
  const server = await startServer(t, { cwd }, '--db', 'copy.db');
  assert.equal((await server.get(key)).status, 200);
});

test('db backup never overwrites an existing file, and reports a file that it cannot create', async () => {
  const cwd = await withOrders(1);
  writeFileSync(join(cwd, 'taken.db'), 'mine');
  symlinkSync('nowhere', join(cwd, 'link.db'));
  const rows = [
    ['taken.db', 'taken.db already exists; name a new file, because a backup overwrites nothing'],
    ['link.db', 'link.db already exists; name a new file, because a backup overwrites nothing'],
    ['store-orders.db', 'store-orders.db already exists; name a new file, because a backup overwrites nothing'],
    ['absent/copy.db', 'cannot create absent/copy.db; check that its directory exists and is writable'],
  ] as const;
  for (const [target, says] of rows) {
    assert.deepEqual(await run(['db', 'backup', target], { cwd }), {
      code: 1,
      stdout: '',
      stderr: `store-orders: ${says}\n`,
    });
  }
  assert.deepEqual(readdirSync(cwd), ['link.db', 'store-orders.db', 'taken.db']);
  assert.equal(readFileSync(join(cwd, 'taken.db'), 'utf8'), 'mine');
});

test('db backup reports an existing target before it reads the database', async () => {
  const cwd = await withOrders(2_000);
  damage(join(cwd, 'store-orders.db'));
  const { stderr } = await run(['db', 'backup', 'store-orders.db'], { cwd });
  assert.match(stderr, /^store-orders: store-orders\.db already exists; /);
});

test('db backup reports damage that only a check of the copy finds, and removes the copy', async () => {
  const cwd = await withOrders(3);
  const file = join(cwd, 'store-orders.db');
  const bytes = readFileSync(file);
  // This changes the type of a status from a text of 7 bytes (27) to a blob of 7 bytes (26).
  // Section 2.1 of SQLite's file format lists the numbers of the types.
  bytes[bytes.lastIndexOf(27, bytes.indexOf('pending'))] = 26;
  writeFileSync(file, bytes);
  const { code, stderr } = await run(['db', 'backup', 'copy.db'], { cwd });
  assert.equal(code, 1);
  assert.match(stderr, /^store-orders: store-orders\.db is damaged: non-TEXT value in orders\.status; /);
  assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
});

for (const [kind, name, sql] of [
  ['trigger', 'keys', "CREATE TRIGGER keys AFTER UPDATE ON orders BEGIN INSERT INTO keys VALUES ('key_a'); END"],
  ['view', 'cancelled', 'CREATE VIEW cancelled AS SELECT id FROM orders'],
  ['table', 'cats', 'CREATE TABLE cats (name TEXT)'],
] as const) {
  test(`db check, db backup and db restore refuse a database with a foreign ${kind}`, async () => {
    const cwd = await withOrders(1);
    await answerOf(['db', 'backup', 'copy.db'], { cwd });
    change(join(cwd, 'copy.db'), sql);
    const files = readdirSync(cwd);
    for (const args of [
      ['db', 'check', '--db', 'copy.db'],
      ['db', 'backup', 'second.db', '--db', 'copy.db'],
      ['db', 'restore', 'copy.db'],
    ]) {
      const { code, stderr } = await run(args, { cwd });
      const says = `store-orders: copy.db contains the ${kind} "${name}", which store-orders did not create; drop it first\n`;
      assert.deepEqual([code, stderr], [1, says], `${args}`);
    }
    assert.deepEqual(
      readdirSync(cwd).filter((file) => !file.endsWith('-server')),
      files,
    );
    change(join(cwd, 'copy.db'), `DROP ${kind} ${name}; CREATE INDEX by_status ON orders (status); ANALYZE`);
    assert.equal((await run(['db', 'restore', 'copy.db'], { cwd })).stderr, '');
  });
}
