import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { sampled } from '../../support/sampled.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, issueKey, run } from '../support/program.js';

const COMMANDS = [
  // No machine has this address (RFC 5737). So if a server wrongly accepts the file, it cannot
  // listen, and exits with a different message.
  'serve --host 192.0.2.1',
  'orders import -',
  'orders import - --replace',
  'orders export',
  'orders show 1',
  'orders ship 1',
  'keys create --plan free',
  'keys list',
  'keys set-plan key_a --plan free',
  'keys revoke key_a',
  'quota show key_a',
  'quota reset key_a',
  'ban lift key_a',
  'db check',
  'db backup copy.db',
];

const NO_DATABASE = /: the file is not a SQLite database; name another file, /;
const FOREIGN = /: the file is not an order database, because it holds other tables; use a separate file\n$/;
const NEWER =
  /: its (orders|program) schema has version 99, but this program knows only versions up to [13]; use a newer store-orders\n$/;

/** The statement that marks a file as an order database. */
const APPLICATION_ID = 'PRAGMA application_id = 0x534f7264';

const FILES: readonly { readonly name: string; readonly says: RegExp; make(file: string): unknown }[] = [
  {
    name: 'text',
    says: NO_DATABASE,
    make: (file) => writeFileSync(file, 'Felis catus, '.repeat(1_000)),
  },
  {
    name: 'a database of another program in WAL mode',
    says: FOREIGN,
    make: (file) => exec(file, 'PRAGMA journal_mode = WAL', 'CREATE TABLE cats (name TEXT)'),
  },
  {
    name: 'a file that records a newer version of its order tables',
    says: NEWER,
    async make(file) {
      await issueKey(join(file, '..'), 'free', '--db', file);
      exec(file, "UPDATE store_orders_schema SET version = 99 WHERE part = 'orders'");
    },
  },
  {
    name: "a file without a write-ahead log that records a newer version of the program's tables",
    says: NEWER,
    async make(file) {
      await issueKey(join(file, '..'), 'free', '--db', file);
      exec(file, 'PRAGMA journal_mode = DELETE');
      exec(file, "UPDATE store_orders_schema SET version = 99 WHERE part = 'program'");
    },
  },
];

for (const [index, { name, says, make }] of FILES.entries()) {
  test(`every command refuses ${name}, and changes neither this file nor the files beside it`, async () => {
    const cwd = temporaryDirectory();
    await make(join(cwd, 'file.db'));
    const before = contents(cwd);
    for (const command of sampled(COMMANDS, index)) {
      const { code, stdout, stderr } = await run([...command.split(' '), '--db', 'file.db'], {
        cwd,
        input: '{"id":1}',
      });
      assert.deepEqual([code, stdout], [1, ''], command);
      assert.match(stderr, says, command);
      assert.match(stderr, /^store-orders: cannot (?:open|read) file\.db: [^\n]+\n$/, command);
      assert.deepEqual(contents(cwd), before, command);
    }
  });
}

test('a database file without tables is accepted as a new database', async () => {
  const cwd = temporaryDirectory();
  exec(join(cwd, 'store-orders.db'), 'PRAGMA user_version = 1', 'PRAGMA user_version = 0');
  assert.deepEqual(await answerOf(['keys', 'list'], { cwd }), []);
});

test('a migration that fails midway leaves the file unchanged', async () => {
  const cwd = temporaryDirectory();
  exec(
    join(cwd, 'keyless.db'),
    'CREATE TABLE store_orders_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT',
    "INSERT INTO store_orders_schema VALUES ('orders', 1)",
    'CREATE TABLE quotas (mine TEXT)',
    APPLICATION_ID,
  );
  const before = contents(cwd);
  const { code, stderr } = await run(['keys', 'list', '--db', 'keyless.db'], { cwd });
  assert.deepEqual([code, stderr], [1, 'store-orders: cannot open keyless.db: table quotas already exists\n']);
  assert.deepEqual(contents(cwd), before);
});

test('several processes that migrate the same file together all succeed, and the file is migrated once', async () => {
  const cwd = temporaryDirectory();
  for (const round of sampled([1, 2, 3, 4, 5])) {
    const db = `${round}.db`;
    const store = openSqliteOrderStore(join(cwd, db));
    await store.put([{ id: 1 }]);
    await store.close();
    const keys = await Promise.all([1, 2, 3].map(() => issueKey(cwd, 'free', '--db', db)));
    const checked = Object(await answerOf(['db', 'check', '--db', db], { cwd }));
    assert.deepEqual(checked.schema, { orders: { file: 3, program: 3 }, program: { file: 1, program: 1 } });
    assert.equal(checked.keys.total, keys.length);
    assert.equal(checked.orders.total, 1);
  }
});

function exec(file: string, ...statements: readonly string[]): void {
  const database = openSqliteDatabase(file);
  for (const statement of statements) database.exec(statement);
  database.close();
}

/** Returns the bytes of each file in a directory, by file name. */
function contents(directory: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(directory).map((name) => [name, readFileSync(join(directory, name)).toString('latin1')]),
  );
}
