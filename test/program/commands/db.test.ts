import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { SCHEMAS } from '../../../dist/program/storage/program-parts.js';
import { change } from '../support/change.js';
import { commandsIn, issueKey, programWithOrders } from '../support/program.js';

/** The versions of the tables of this program. */
const { orders: { length: orders } = [], program: { length: program } = [] } = SCHEMAS;

test('db check reports the content and the settings of an undamaged file, and does not change the file', async () => {
  const { cwd, output, json } = await programWithOrders(3, commandsIn());
  await output('orders ship 2');
  const { id } = await issueKey(cwd, 'free');
  await issueKey(cwd, 'pro');
  await output(`keys revoke ${id}`);
  const bytes = readFileSync(join(cwd, 'store-orders.db'));
  assert.deepEqual(await json('db check'), {
    file: 'store-orders.db',
    orders: { total: 3, byStatus: { pending: 2, shipped: 1 } },
    keys: { total: 2, revoked: 1 },
    revision: 1,
    schema: { orders: { file: orders, program: orders }, program: { file: program, program } },
    journalMode: 'wal',
    pages: bytes.length / 4096,
    freePages: 0,
    pageBytes: 4096,
    fileBytes: bytes.length,
    logBytes: 0,
  });
  assert.equal(
    await output('db check'),
    `store-orders.db is sound
orders    3: 2 pending, 1 shipped
keys      2, 1 of them revoked
revision  1
schema    orders ${orders}; program ${program}
journal   wal
pages     ${bytes.length / 4096} of 4096 bytes, 0 of them free
size      ${bytes.length} bytes, plus 0 in its -wal file
`,
  );
  assert.deepEqual(readFileSync(join(cwd, 'store-orders.db')), bytes);
  assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
});

test('db check and db backup report a damaged file and what to do, and db backup leaves no copy', async () => {
  const { cwd, failure } = await programWithOrders(2_000, commandsIn());
  const file = join(cwd, 'store-orders.db');
  const sound = readFileSync(file);
  const status = sound.indexOf('pending', sound.length / 2);
  const page = status & ~0xfff;
  const type = sound.lastIndexOf(27, status);
  for (const [value, from, to, why] of [
    [0xff, page + 1_500, page + 2_500, '.+'],
    // A copy can have this damage too: the type of a status is no longer a text of 7 bytes (27), but
    // a blob of 7 bytes (26). Section 2.1 of SQLite's file format lists the numbers of the types.
    [26, type, type + 1, 'non-TEXT value in orders\\.status'],
  ] as const) {
    const damaged = Buffer.from(sound).fill(value, from, to);
    writeFileSync(file, damaged);
    const advice =
      'stop the server, keep a copy of the file and its -wal file, then run db restore with a sound backup';
    for (const command of ['db check', 'db backup copy.db']) {
      assert.match(await failure(command), new RegExp(`^store-orders\\.db is damaged: ${why}; ${advice}$`));
    }
    assert.deepEqual(readdirSync(cwd), ['store-orders.db']);
    assert.ok(readFileSync(file).equals(damaged));
  }
  writeFileSync(file, sound);
  change(file, 'PRAGMA ignore_check_constraints = ON; UPDATE orders SET quantity = 1 << 53');
  assert.match(await failure('db check'), /^store-orders\.db is damaged: CHECK constraint failed in orders; /);
});

test('db check accepts a database of the library, which lacks the tables of the program, and its backup', async () => {
  const { cwd, output } = commandsIn();
  const store = openSqliteOrderStore(join(cwd, 'library.db'));
  await store.put([{ id: 1 }]);
  await store.close();
  await output('db backup copy.db --db library.db');
  const schema = `orders ${orders}; program 0 (this program: ${program})`;
  for (const db of ['library.db', 'copy.db']) {
    const text = await output(`db check --db ${db}`);
    assert.match(text, /\nkeys {6}0, 0 of them revoked\n/);
    assert.ok(text.includes(`\nschema    ${schema}\n`), text);
  }
});

test('db backup writes a complete database into one file', async () => {
  const { cwd, output, json } = await programWithOrders(2_500, commandsIn());
  await issueKey(cwd, 'free');
  const report = await json('db backup copy.db');
  assert.deepEqual(report, { file: 'store-orders.db', backup: 'copy.db', bytes: statSync(join(cwd, 'copy.db')).size });
  assert.deepEqual(readdirSync(cwd), ['copy.db', 'store-orders.db']);
  for (const command of ['orders export', 'keys list']) {
    assert.equal(await output(`${command} --db copy.db`), await output(command));
  }
});

test('db backup never overwrites an existing file, and reports a file that it cannot create', async () => {
  const { cwd, failure } = await programWithOrders(1);
  writeFileSync(join(cwd, 'taken.db'), 'mine');
  symlinkSync('nowhere', join(cwd, 'link.db'));
  for (const name of ['taken.db', 'link.db', 'store-orders.db']) {
    assert.equal(
      await failure(`db backup ${name}`),
      `${name} already exists; name a new file, because a backup overwrites nothing`,
    );
  }
  assert.equal(
    await failure('db backup absent/copy.db'),
    'cannot create absent/copy.db; check that its directory exists and is writable',
  );
  // The name is checked before the database is copied, which may take minutes.
  assert.match(await failure('db backup link.db --db taken.db'), /^link.db already exists/);
  assert.deepEqual(readdirSync(cwd), ['link.db', 'store-orders.db', 'taken.db']);
  assert.equal(readFileSync(join(cwd, 'taken.db'), 'utf8'), 'mine');
});

test('serve, db check, db backup and db restore refuse a database with a trigger, a view or a table of another program', async () => {
  const { cwd, output, failure } = await programWithOrders(1);
  const file = join(cwd, 'copy.db');
  await output('db backup copy.db');
  for (const [kind, name, sql] of [
    ['trigger', 'keys', "CREATE TRIGGER keys AFTER UPDATE ON orders BEGIN INSERT INTO keys VALUES ('key_a'); END"],
    ['view', 'cancelled', 'CREATE VIEW cancelled AS SELECT id FROM orders'],
    ['table', 'cats', 'CREATE TABLE cats (name TEXT)'],
  ] as const) {
    change(file, sql);
    for (const command of [
      ...['db check --db copy.db', 'db backup second.db --db copy.db', 'db restore copy.db'],
      'serve --host 192.0.2.1 --db copy.db',
    ]) {
      assert.equal(
        await failure(command),
        `copy.db contains the ${kind} "${name}", which store-orders did not create; drop it first`,
      );
    }
    assert.ok(!existsSync(join(cwd, 'second.db')));
    change(file, `DROP ${kind} ${name}`);
  }
  // Of this name are the tables that Litestream adds.
  change(file, 'CREATE INDEX by_status ON orders (status); ANALYZE; CREATE TABLE _litestream_seq (id, seq)');
  await output('db restore copy.db');
});
