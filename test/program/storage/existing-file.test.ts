import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { SCHEMAS } from '../../../dist/program/storage/program-parts.js';
import { root } from '../../support/root.js';
import { sampled } from '../../support/sampled.js';
import { change } from '../support/change.js';
import { leaveJournal } from '../support/journal.js';
import { commandsIn, issueKey, programIn } from '../support/program.js';

/** The versions of the tables of this program. */
const { orders: { length: orders } = [], program: { length: program } = [] } = SCHEMAS;

const COMMANDS = [
  // No machine has this address (RFC 5737). So if a server wrongly accepts the file, it cannot
  // listen, and exits with a different message.
  'serve --host 192.0.2.1',
  'orders import - --replace',
  'orders export',
  'orders ship 1',
  'keys create --plan free',
  'keys list',
  'keys revoke key_a',
  'quota reset key_a',
  'db check',
  'db backup copy.db',
];

const TEXT = 'Felis catus, '.repeat(1_000);
const newer = (part: string) => `UPDATE store_orders_versions SET version = 99 WHERE part = '${part}'`;
const NEWER =
  /: the (orders|program) schema has version 99, but this program knows only versions up to \d+; use a newer store-orders\n$/;

const FILES: readonly (readonly [name: string, says: RegExp, make: (file: string) => unknown])[] = [
  ['text', /: the file is not a SQLite database; name another file, /, (file) => writeFileSync(file, TEXT)],
  [
    'a database of another program in WAL mode',
    /: the file is not an order database, because it holds other tables; use a separate file\n$/,
    (file) => change(file, 'PRAGMA journal_mode = WAL; CREATE TABLE cats (name TEXT)'),
  ],
  [
    'a database that ".dump" has written out and another file has read',
    /: the file has the tables of store-orders without their mark, which "\.dump" leaves out; run "PRAGMA application_id = 1397715556" on it\n$/,
    (file) => createDatabase(file, 'PRAGMA application_id = 0'),
  ],
  ['a file that records a newer version of its order tables', NEWER, (file) => createDatabase(file, newer('orders'))],
  [
    "a file without a write-ahead log that records a newer version of the program's tables",
    NEWER,
    (file) => createDatabase(file, `PRAGMA journal_mode = DELETE; ${newer('program')}`),
  ],
  [
    'a file with two hard links',
    /: the file has 2 names \(hard links\), and SQLite keeps a log beside each; remove all names but one\n$/,
    (file) => createDatabase(file).then(() => linkSync(file, `${file}.link`)),
  ],
  ['a directory', /: it is not a regular file; name another\n$/, mkdirSync],
  [
    'a backup that was copied over a database whose creation was killed',
    /: the journal file\.db-journal belongs to a database that this file has replaced; rename this file, then copy it back with db restore, which also removes the journal\n$/,
    (file) => createDatabase(file).then(() => leaveJournal(file)),
  ],
];

for (const [index, [name, says, make]] of FILES.entries()) {
  test(`every command refuses ${name}, and changes neither this file nor the files beside it`, async () => {
    const { cwd, run } = commandsIn();
    await make(join(cwd, 'file.db'));
    const before = contents(cwd);
    for (const command of sampled(COMMANDS, index)) {
      const { code, stdout, stderr } = await run(`${command} --db file.db`, '{"id":1}');
      assert.deepEqual([code, stdout], [1, ''], command);
      assert.match(stderr, says, command);
      assert.match(stderr, /^store-orders: cannot (?:open|read) file\.db: [^\n]+\n$/, command);
      assert.deepEqual(contents(cwd), before, command);
    }
  });
}

/** Runs a command of a shell, and then its operands, where mounts are visible to no other process. */
const whereMounted = (mount: string) => {
  return ['unshare', '--map-root-user', '--mount', 'sh', '-c', `${mount} && exec "$0" "$@"`];
};
const [unshare = '', ...trial] = [...whereMounted('mount --bind . .'), 'true'];
const cannotMount =
  spawnSync(unshare, trial).status !== 0 && 'unshare cannot mount here (Linux, in containers --privileged)';

test('a database file that is mounted by itself is refused by every command and by an order store; a backup is not', {
  skip: cannotMount,
}, async () => {
  const { cwd, output } = commandsIn();
  await createDatabase(join(cwd, 'shop.db'));
  await output('db backup copy.db --db shop.db');
  for (const name of ['a \\ file.db', 'mounted copy.db']) writeFileSync(join(cwd, name), '');
  symlinkSync('a \\ file.db', join(cwd, 'link.db'));
  const under = whereMounted(
    `(cd ${cwd} && mount --bind shop.db 'a \\ file.db' && mount --bind copy.db 'mounted copy.db')`,
  );
  const { run } = programIn({ cwd, under });
  const before = contents(cwd);
  const says = 'the file is mounted by itself, without the log that SQLite keeps beside it; mount its directory';
  for (const command of [...sampled(COMMANDS), 'db check', 'db restore copy.db']) {
    const { code, stderr } = await run(`${command} --db link.db`, '{"id":1}');
    assert.deepEqual(
      [code, stderr.replace(' read ', ' open ')],
      [1, `store-orders: cannot open link.db: ${says}\n`],
      command,
    );
  }
  const opening = `try { (await import('store-orders/sqlite')).openSqliteOrderStore(process.argv[1]) }
    catch (error) { console.log(error.message) }`;
  const [command = '', ...args] = [
    ...under,
    process.execPath,
    '--input-type=module',
    '-e',
    opening,
    join(cwd, 'link.db'),
  ];
  const opened = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  assert.equal(opened.stdout, `cannot open ${join(cwd, 'link.db')}: ${says}\n`, opened.stderr);
  assert.deepEqual(contents(cwd), before);
  const restored = await run(['db', 'restore', 'mounted copy.db', '--db', 'shop.db']);
  assert.equal(restored.code, 0, restored.stderr);
});

test('a migration that fails midway leaves the file unchanged', async () => {
  const { cwd, failure } = commandsIn();
  // The id of the application marks the file as an order database.
  change(
    join(cwd, 'keyless.db'),
    `CREATE TABLE store_orders_versions (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
    INSERT INTO store_orders_versions VALUES ('orders', ${orders});
    CREATE TABLE quotas (mine TEXT);
    PRAGMA application_id = 0x534f7264`,
  );
  const before = contents(cwd);
  assert.equal(await failure('keys list --db keyless.db'), 'cannot open keyless.db: table quotas already exists');
  assert.deepEqual(contents(cwd), before);
});

test('several processes that migrate the same file together all succeed, and the file is migrated once', async () => {
  const { cwd, json } = commandsIn();
  for (const round of sampled([1, 2, 3, 4, 5])) {
    const db = `${round}.db`;
    const store = openSqliteOrderStore(join(cwd, db));
    await store.put([{ id: 1 }]);
    await store.close();
    await Promise.all([1, 2, 3].map(() => issueKey(cwd, 'free', '--db', db)));
    const { schema, ...counts } = Object(await json(`db check --db ${db}`));
    assert.deepEqual(schema, { orders: { file: orders, program: orders }, program: { file: program, program } });
    assert.deepEqual([counts.keys.total, counts.orders.total], [3, 1]);
  }
});

async function createDatabase(file: string, sql = ''): Promise<void> {
  await issueKey(dirname(file), 'free', '--db', file);
  change(file, sql);
}

/** Returns the bytes of each file in a directory, by file name. */
function contents(directory: string): Readonly<Record<string, string>> {
  const files = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(directory, name), 'latin1')]));
}
