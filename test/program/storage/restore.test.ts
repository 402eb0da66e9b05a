import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { change } from '../support/change.js';
import { journalOf, leaveJournal } from '../support/journal.js';
import { commandsIn, issueKey, startServer } from '../support/program.js';

const ORDER_1 = '{"id":1,"petId":7,"status":"pending"}\n';

/** A directory with a database that has orders 1 and 2, and a backup from before order 2. */
const stopped = prepare();
/** The same after a killed server has left its write-ahead log beside the database. */
const killed = stopped.then(({ cwd, key }) => prepareKilled(cwd, key));

async function prepare() {
  const { cwd, output } = commandsIn();
  await output('orders import -', '{"id":1,"petId":7}');
  const { key } = await issueKey(cwd, 'free');
  assert.match(await output('db backup backup.db'), /^backed up store-orders\.db to backup\.db, \d+ bytes\n$/);
  await output('orders import -', '{"id":2}');
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
async function withBackup(of: 'stopped' | 'killed' = 'stopped') {
  const cwd = temporaryDirectory();
  const { cwd: from, key } = await stopped;
  cpSync(of === 'killed' ? await killed : from, cwd, { recursive: true });
  return { ...commandsIn(cwd), key, file: (name = 'store-orders.db') => join(cwd, name) };
}

function spoil(name: string, from: number, to: number): void {
  writeFileSync(name, readFileSync(name).fill(0xff, from, to));
}

type File = Awaited<ReturnType<typeof withBackup>>['file'];

/** Leaves of the database what a process has written that was killed while it created the database. */
function halfCreate(file: File, then = (_: string): void => {}): void {
  writeFileSync(file(), readFileSync(file('backup.db')).subarray(0, 4_096));
  leaveJournal(file());
  then(file());
}

const REPLACED: readonly (readonly [what: string, of: 'stopped' | 'killed', prepare: (file: File) => unknown])[] = [
  ['a database', 'stopped', () => {}],
  ['the database of a killed server, with its write-ahead log,', 'killed', () => {}],
  ['a missing database beside a write-ahead log', 'killed', (file) => rmSync(file())],
  ['a copied backup beside a write-ahead log', 'killed', (file) => copyFileSync(file('backup.db'), file())],
  ['a half-created database, with its journal,', 'stopped', (file) => halfCreate(file)],
  ['a missing database beside a journal', 'stopped', (file) => halfCreate(file, rmSync)],
  ['a database without a readable schema', 'stopped', (file) => spoil(file(), 100, 200)],
  [
    'a copied backup beside the journal of a half-created database',
    'stopped',
    (file) => halfCreate(file, (name) => copyFileSync(file('backup.db'), name)),
  ],
];

for (const [what, of, prepare] of REPLACED) {
  test(`db restore replaces ${what} by a backup`, async () => {
    const { cwd, output, file } = await withBackup(of);
    prepare(file);
    assert.equal(
      await output('db restore backup.db'),
      `restored store-orders.db from backup.db, ${statSync(file()).size} bytes\n`,
    );
    assert.deepEqual(readdirSync(cwd), ['backup.db', 'store-orders.db', 'store-orders.db-server']);
    assert.equal(await output('orders export'), ORDER_1);
  });
}

test('db restore to a symbolic link replaces the file that the link points to, and keeps the link', async () => {
  const { output, json, file } = await withBackup();
  symlinkSync('store-orders.db', file('link.db'));
  assert.deepEqual(await json('db restore backup.db --db link.db'), {
    ...{ file: 'link.db', backup: 'backup.db', bytes: statSync(file('backup.db')).size },
  });
  assert.ok(lstatSync(file('link.db')).isSymbolicLink());
  assert.equal(await output('orders export'), ORDER_1);
});

test('db restore is refused while a server runs, or another process has the file open or reads it', async (t) => {
  const { cwd, output, failure, file } = await withBackup();
  const before = await output('orders export');
  const server = await startServer(t, { cwd });
  assert.equal(await failure('db restore backup.db'), 'a server runs on store-orders.db; stop it first');
  await server.stop('SIGTERM');
  for (const begin of ['', 'PRAGMA journal_mode = DELETE; BEGIN;']) {
    const other = openSqliteDatabase(file());
    other.exec(`${begin} SELECT count(*) FROM orders`);
    const message = await failure('db restore backup.db');
    other.close();
    assert.equal(message, 'another process uses store-orders.db; wait for it or stop it, then try again');
  }
  assert.equal(await output('orders export'), before);
});

test('db restore refuses an invalid backup, and never replaces a file that is not an order database', async () => {
  const { cwd, failure, file } = await withBackup();
  const contents = () =>
    readdirSync(cwd)
      .filter((name) => !name.endsWith('-server'))
      .map((name) => [name, readFileSync(file(name), 'latin1')]);
  copyFileSync(file('backup.db'), file('damaged.db'));
  spoil(file('damaged.db'), 4_096, 8_192);
  writeFileSync(file('empty.db'), '');
  writeFileSync(file('text.db'), 'Felis catus, '.repeat(1_000));
  change(file('foreign.db'), 'CREATE TABLE cats (name TEXT)');
  const before = contents();
  for (const [backup, db, says] of [
    ['absent.db', 'store-orders.db', /^there is no backup absent\.db$/],
    ['store-orders.db', 'store-orders.db', /^store-orders\.db is the database itself; move it to another name first$/],
    ['damaged.db', 'store-orders.db', /^damaged\.db is damaged: /],
    ['empty.db', 'store-orders.db', /^empty\.db has no tables; start a server on it to create them$/],
    ['text.db', 'store-orders.db', /^cannot read text\.db: the file is not a SQLite database; /],
    ['foreign.db', 'store-orders.db', /^cannot read foreign\.db: the file is not an order database, /],
    ['store-orders.db', 'text.db', /^cannot open text\.db: the file is not a SQLite database; /],
    ['store-orders.db', 'foreign.db', /^cannot open foreign\.db: the file is not an order database, /],
    ['store-orders.db', 'absent/new.db', /^cannot /],
    ['store-orders.db', '.', /^cannot read \.: it is not a regular file; /],
  ] as const) {
    assert.match(await failure(`db restore ${backup} --db ${db}`), says);
    assert.deepEqual(contents(), before, `${backup} to ${db}`);
  }
});

test('a command creates a database again if its creation was killed', async () => {
  const { json, file } = await withBackup();
  halfCreate(file);
  assert.deepEqual(await json('keys list'), []);
});

for (const [name, journal] of [
  ['truncated', () => journalOf(0).subarray(0, 27)],
  ['invalid', () => Buffer.alloc(512)],
  ['complete', journalOf],
] as const) {
  test(`a command opens a database beside its own ${name} journal`, async () => {
    const { output, file } = await withBackup();
    writeFileSync(`${file()}-journal`, journal(statSync(file()).size / 4_096));
    assert.match(await output('orders export'), /"id":1.+\n.+"id":2/);
  });
}

test('a server does not start on a damaged file, but starts after the file is restored', async (t) => {
  const { cwd, output, failure, file, key } = await withBackup();
  const page = readFileSync(file()).lastIndexOf('pending') & ~0xfff;
  spoil(file(), page, page + 100);
  truncateSync(file(), 256 * 2 ** 20);
  assert.match(
    await failure('serve --host 192.0.2.1'),
    /^store-orders\.db is damaged: .+; stop the server, .+ db restore with a sound backup$/,
  );
  truncateSync(file(), 256 * 2 ** 20 + 1);
  assert.match(await failure('serve --host 192.0.2.1'), /^cannot listen /, 'a larger file is not checked');
  await output('db restore backup.db');
  const server = await startServer(t, { cwd });
  assert.deepEqual(await (await server.get(key)).json(), [{ id: 1, petId: 7 }]);
});
