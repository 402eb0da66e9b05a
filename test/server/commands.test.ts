import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { run, temporaryDirectory } from './program.js';

const COMMANDS = [
  'serve',
  'orders import',
  'orders export',
  'orders show',
  'orders ship',
  'keys create',
  'keys list',
  'keys set-plan',
  'keys revoke',
  'quota show',
  'quota reset',
  'ban lift',
  'db check',
  'db backup',
];

test('the program, each group and each command explain themselves with --help and exit 0', async (t) => {
  const cwd = temporaryDirectory(t);
  const program = await run(['--help'], { cwd });
  assert.equal(program.code, 0);
  for (const command of COMMANDS) assert.ok(program.stdout.includes(`\n  ${command} `), command);
  for (const group of ['orders', 'keys', 'quota', 'ban', 'db']) {
    const { code, stdout } = await run([group, '-h'], { cwd });
    assert.ok(code === 0 && stdout.startsWith(`store-orders ${group} COMMAND`), group);
  }
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await run([...command.split(' '), '--help'], { cwd });
    assert.deepEqual([code, stderr], [0, ''], command);
    assert.ok(stdout.startsWith(`store-orders ${command} `), stdout);
    assert.match(stdout, / {2}--db FILE .*\n/);
    assert.match(stdout, / {2}--json .*\n/);
  }
  assert.deepEqual(readdirSync(cwd), []);
});

test('--version answers with the version of the package', async (t) => {
  const { code, stdout } = await run(['--version'], { cwd: temporaryDirectory(t) });
  assert.equal(code, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\S*\n$/);
});

test('misuse is told in one sentence and exits 2', async (t) => {
  const cwd = temporaryDirectory(t);
  const rows: readonly (readonly [args: string, says: string])[] = [
    ['import', 'import: there is no such command; --help lists them'],
    ['redis://:secret@host', 'there is no such command; --help lists them'],
    ['orders', 'orders: expected one of import, export, show, ship'],
    ['orders list', 'orders list: there is no such command; --help lists them'],
    ['orders show', 'expected ORDER_ID; see store-orders orders show --help'],
    ['orders show 1 2', 'expected ORDER_ID and nothing more; see store-orders orders show --help'],
    ['orders show 01', 'ORDER_ID: expected an int64 in plain decimal form, not "01"'],
    ['orders show -1', '-1: there is no such option; put -- before a number; see store-orders orders show --help'],
    ['orders ship 1e0', 'ORDER_ID: expected an int64 in plain decimal form, not "1e0"'],
    ['keys revoke', 'expected KEY_ID; see store-orders keys revoke --help'],
    ['keys list --constructor', '--constructor: there is no such option; see store-orders keys list --help'],
    ['--prot 80', '--prot: there is no such option; see store-orders serve --help'],
  ];
  for (const [args, says] of rows) {
    assert.deepEqual(await run(args.split(' '), { cwd }), { code: 2, stdout: '', stderr: `store-orders: ${says}\n` });
  }
});

test('a command on a missing database says so, exits 1, and does not make one', async (t) => {
  const cwd = temporaryDirectory(t);
  const commands = [
    'orders export',
    'orders show 1',
    'orders ship 1',
    'keys list',
    'keys revoke key_a',
    'quota show key_a',
    'quota reset key_a',
    'ban lift key_a',
    'db check',
    'db backup copy.db',
  ];
  for (const command of commands) {
    assert.deepEqual(await run([...command.split(' '), '--db', 'absent.db'], { cwd }), {
      code: 1,
      stdout: '',
      stderr:
        'store-orders: there is no database absent.db; name the right file with --db, or start the server, which creates one\n',
    });
  }
  assert.deepEqual(readdirSync(cwd), []);
});

test('a database in memory is refused by every command but serve: nobody would see what it did', async (t) => {
  const cwd = temporaryDirectory(t);
  for (const command of ['keys create --plan free', 'orders import -', 'keys list', 'db check']) {
    assert.deepEqual(await run([...command.split(' '), '--db', ':memory:'], { cwd, input: '{"id":1}' }), {
      code: 2,
      stdout: '',
      stderr: 'store-orders: a database in memory is gone with its process; name a file with --db\n',
    });
  }
});

test('a failure of the database itself is told in one line and exits 1', async (t) => {
  const cwd = temporaryDirectory(t);
  await run(['orders', 'import', '-'], { cwd, input: '[]' });
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  database.exec("CREATE TRIGGER full BEFORE INSERT ON keys BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  database.close();
  const { code, stdout, stderr } = await run(['keys', 'create', '--plan', 'free'], { cwd });
  assert.deepEqual([code, stdout, stderr], [1, '', 'store-orders: store-orders.db: the disk is full\n']);
});

test('a file that is no database of this program is refused and left alone', async (t) => {
  const cwd = temporaryDirectory(t);
  const foreign = openSqliteDatabase(join(cwd, 'foreign.db'));
  foreign.exec('CREATE TABLE cats (name TEXT)');
  foreign.close();
  writeFileSync(join(cwd, 'text.db'), 'no database at all, '.repeat(100));
  mkdirSync(join(cwd, 'directory.db'));
  for (const [file, says] of [
    ['foreign.db', /^store-orders: cannot open the database foreign\.db: .*holds other tables/],
    ['text.db', /^store-orders: cannot open the database text\.db: /],
    ['directory.db', /^store-orders: cannot open the database directory\.db: /],
    ['absent/new.db', /^store-orders: cannot create the database absent\/new\.db; check that its directory exists/],
  ] as const) {
    for (const command of [
      ['keys', 'create', '--plan', 'free'],
      ['serve', '--port', '0'],
    ]) {
      const { code, stderr } = await run([...command, '--db', file], { cwd });
      assert.equal(code, 1, file);
      assert.match(stderr, says);
    }
  }
  assert.deepEqual(readdirSync(cwd).sort(), ['directory.db', 'foreign.db', 'text.db']);
});

test('an order is shown with its status and shipped when it is pending, ids exact', async (t) => {
  const cwd = temporaryDirectory(t);
  const input =
    '{"id":9007199254740993,"petId":1}{"id":-5}{"id":2,"status":"cancelled"}{"id":3,"status":"lost"}'.replaceAll(
      '}{',
      '}\n{',
    );
  await run(['orders', 'import', '-'], { cwd, input });
  const shown = await run(['orders', 'show', '9007199254740993'], { cwd });
  assert.equal(shown.stdout, 'id        9007199254740993\npetId     1\nstatus    pending\n');
  const rows: readonly (readonly [args: string, code: number, says: string])[] = [
    ['9007199254740993', 0, 'order 9007199254740993 is shipped\n'],
    ['-- -5', 0, 'order -5 is shipped\n'],
    ['9007199254740993', 1, 'store-orders: order 9007199254740993 has shipped already\n'],
    ['9007199254740992', 1, 'store-orders: order 9007199254740992 does not exist\n'],
    ['2', 1, 'store-orders: order 2 is cancelled, it cannot be shipped\n'],
    ['3', 1, 'store-orders: order 3 is not pending, only a pending order can be shipped\n'],
  ];
  for (const [args, code, says] of rows) {
    const shipped = await run(['orders', 'ship', ...args.split(' ')], { cwd });
    assert.deepEqual([shipped.code, shipped.stdout + shipped.stderr], [code, says]);
  }
  const json = await run(['orders', 'show', '9007199254740993', '--json'], { cwd });
  assert.equal(json.stdout, '{"id":9007199254740993,"petId":1,"status":"shipped"}\n');
  assert.equal((await run(['orders', 'show', '7'], { cwd })).stderr, 'store-orders: there is no order 7\n');
});
