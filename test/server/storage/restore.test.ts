import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { journalOf, leaveJournal } from '../support/journal.js';
import { answerOf, issueKey, type Run, run, startServer } from '../support/program.js';

const SERVE = ['serve', '--host', '192.0.2.1'];

/** A directory with a database that has orders 1 and 2, and a backup from before order 2. */
const stopped = prepare();
/** The same after a killed server has left its write-ahead log beside the database. */
const killed = stopped.then(({ cwd, key }) => prepareKilled(cwd, key));

async function prepare() {
  const cwd = temporaryDirectory();
  await answerOf(['orders', 'import', '-'], { cwd, input: '{"id":1,"petId":7}' });
  const { key } = await issueKey(cwd, 'free');
  await answerOf(['db', 'backup', 'backup.db'], { cwd });
  await answerOf(['orders', 'import', '-'], { cwd, input: '{"id":2}' });
  return { cwd, key };
}

async function prepareKilled(from: string, key: string): Promise<string> {
  const cwd = temporaryDirectory();
  cpSync(from, cwd, { recursive: true });
  const server = await startServer({ after }, { cwd });
  await fetch(`${server.url}/store/orders/2`, { method: 'DELETE', headers: { authorization: `Bearer ${key}` } });
  await server.stop('SIGKILL');
  assert.ok(existsSync(join(cwd, 'store-orders.db-wal')));
  return cwd;
}

/** Copies one of the directories for a test. */
async function withBackup({ isKilled = false } = {}) {
  const cwd = temporaryDirectory();
  const { cwd: from, key } = await stopped;
  cpSync(isKilled ? await killed : from, cwd, { recursive: true });
  const restore = (...args: readonly string[]): Promise<Run> => run(['db', 'restore', 'backup.db', ...args], { cwd });
  const exported = async () => (await run(['orders', 'export'], { cwd })).stdout;
  return { cwd, file: (name = 'store-orders.db') => join(cwd, name), key, restore, exported };
}

/** Returns the bytes of each file in a directory, by file name. */
function contents(directory: string): Readonly<Record<string, string>> {
  const names = readdirSync(directory).filter((name) => !name.endsWith('-server'));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name)).toString('latin1')]));
}

const ORDER_1 = '{"id":1,"petId":7,"status":"pending"}\n';

for (const isKilled of [false, true]) {
  test(`db restore replaces ${isKilled ? 'the database of a killed server, with its write-ahead log,' : 'a database'} by a backup`, async (t) => {
    const { cwd, file, key, restore, exported } = await withBackup({ isKilled });
    const { code, stdout } = await restore();
    const bytes = readFileSync(file()).length;
    assert.deepEqual([code, stdout], [0, `restored store-orders.db from backup.db, ${bytes} bytes\n`]);
    assert.deepEqual(
      readdirSync(cwd).filter((name) => !name.endsWith('-server')),
      ['backup.db', 'store-orders.db'],
    );
    assert.equal(await exported(), ORDER_1);
    const server = await startServer(t, { cwd });
    assert.deepEqual(await (await server.get(key)).json(), [{ id: 1, petId: 7 }]);
  });
}

for (const isMissing of [false, true]) {
  test(`db restore replaces a ${isMissing ? 'missing' : 'copied'} database beside the write-ahead log of another`, async () => {
    const { file, restore, exported } = await withBackup({ isKilled: true });
    if (isMissing) renameSync(file(), file('gone.db'));
    else copyFileSync(file('backup.db'), file());
    assert.equal((await restore()).code, 0);
    assert.ok(!existsSync(file('store-orders.db-wal')));
    assert.equal(await exported(), ORDER_1);
  });
}

test('db restore to a symbolic link replaces the file that the link points to, and keeps the link', async () => {
  const { file, restore, exported } = await withBackup();
  symlinkSync('store-orders.db', file('link.db'));
  assert.equal((await restore('--db', 'link.db')).code, 0);
  assert.ok(lstatSync(file('link.db')).isSymbolicLink());
  assert.equal(await exported(), ORDER_1);
});

test('db restore is refused while a server runs, or another process has the file open', async (t) => {
  const { cwd, file, restore, exported } = await withBackup();
  const before = await exported();
  const server = await startServer(t, { cwd });
  assert.equal((await restore()).stderr, 'store-orders: a server runs on store-orders.db; stop it first\n');
  await server.stop('SIGTERM');
  const other = openSqliteDatabase(file());
  other.prepare('SELECT count(*) FROM orders').get();
  const { stderr } = await restore();
  other.close();
  assert.equal(stderr, 'store-orders: another process uses store-orders.db; wait for it or stop it, then try again\n');
  assert.equal(await exported(), before);
});

test('db restore refuses an invalid backup, and never replaces a file that is not an order database', async () => {
  const { cwd, file, exported } = await withBackup();
  const before = await exported();
  const bytes = readFileSync(file('backup.db'));
  writeFileSync(file('damaged.db'), bytes.fill(0xff, 4_096, 8_192));
  writeFileSync(file('empty.db'), '');
  writeFileSync(file('text.db'), 'Felis catus, '.repeat(1_000));
  const foreign = openSqliteDatabase(file('foreign.db'));
  foreign.exec('CREATE TABLE cats (name TEXT)');
  foreign.close();
  const files = contents(cwd);
  for (const [backup, db, says] of [
    ['absent.db', 'store-orders.db', /^store-orders: there is no backup absent\.db\n$/],
    ['store-orders.db', 'store-orders.db', /^store-orders: store-orders\.db is the database itself; move it/],
    ['damaged.db', 'store-orders.db', /^store-orders: damaged\.db is damaged: /],
    ['empty.db', 'store-orders.db', /^store-orders: empty\.db has no tables; start a server on it /],
    ['text.db', 'store-orders.db', /^store-orders: cannot read text\.db: the file is not a SQLite database; /],
    ['foreign.db', 'store-orders.db', /^store-orders: cannot read foreign\.db: the file is not an order database, /],
    ['store-orders.db', 'text.db', /^store-orders: cannot open text\.db: the file is not a SQLite database; /],
    ['store-orders.db', 'foreign.db', /^store-orders: cannot open foreign\.db: the file is not an order database, /],
    ['store-orders.db', 'absent/new.db', /^store-orders: cannot /],
    ['store-orders.db', '.', /^store-orders: cannot read \.: it is not a regular file; /],
  ] as const) {
    const { code, stderr } = await run(['db', 'restore', backup, '--db', db], { cwd });
    assert.equal(code, 1, `${backup} to ${db}`);
    assert.match(stderr, says);
    assert.match(stderr, /^[^\n]+\n$/);
    assert.deepEqual(contents(cwd), files);
  }
  assert.equal(await exported(), before);
});

for (const isMissing of [false, true]) {
  test(`db restore removes the journal beside a ${isMissing ? 'missing' : 'half-created'} database`, async () => {
    const { cwd, file, restore, exported } = await withBackup();
    rmSync(file());
    if (!isMissing) writeFileSync(file(), readFileSync(file('backup.db')).subarray(0, 4_096));
    leaveJournal(file());
    assert.equal((await restore()).stderr, '');
    assert.equal(await exported(), ORDER_1);
    assert.deepEqual(readdirSync(cwd), ['backup.db', 'store-orders.db', 'store-orders.db-server']);
  });
}

test('no command opens a copied backup beside the journal of a half-created database; db restore replaces it', async () => {
  const { cwd, file, restore, exported } = await withBackup();
  copyFileSync(file('backup.db'), file());
  leaveJournal(file());
  const files = contents(cwd);
  for (const args of [SERVE, ['orders', 'export'], ['keys', 'list'], ['db', 'check'], ['db', 'backup', 'copy.db']]) {
    const { code, stderr } = await run(args, { cwd });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^store-orders: cannot (?:open|read) store-orders\.db: the journal store-orders\.db-journal belongs to a database that this file has replaced; .+ with db restore, .+\n$/,
    );
    assert.deepEqual(contents(cwd), files, `${args}`);
  }
  assert.equal((await restore()).stderr, '');
  assert.equal(await exported(), ORDER_1);
});

test('a command creates a database again if its creation was killed', async () => {
  const { cwd, file } = await withBackup();
  writeFileSync(file(), readFileSync(file('backup.db')).subarray(0, 4_096));
  leaveJournal(file());
  assert.deepEqual(await answerOf(['keys', 'list'], { cwd }), []);
});

for (const [name, journal] of [
  ['empty', () => Buffer.alloc(0)],
  ['incomplete', () => Buffer.alloc(512)],
  ['complete', journalOf],
] as const) {
  test(`a command opens a database beside its own ${name} journal`, async () => {
    const { file, exported } = await withBackup();
    writeFileSync(`${file()}-journal`, journal(readFileSync(file()).length / 4_096));
    assert.match(await exported(), /"id":1.+\n.+"id":2/);
  });
}

test('a server does not start on a damaged file, but starts after the file is restored', async (t) => {
  const { cwd, file, key, restore } = await withBackup();
  const bytes = readFileSync(file());
  const page = bytes.lastIndexOf('pending') & ~0xfff;
  writeFileSync(file(), bytes.fill(0xff, page, page + 100));
  const { code, stderr } = await run(SERVE, { cwd });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^store-orders: store-orders\.db is damaged: .+; stop the server, .+ db restore with a sound backup\n$/,
  );
  assert.equal((await restore()).code, 0);
  const server = await startServer(t, { cwd });
  assert.equal((await server.get(key)).status, 200);
});
