import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { sampled } from '../../support/sampled.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { run } from '../support/program.js';

const COMMANDS = [
  ...['serve', 'orders import', 'orders list', 'orders export', 'orders show', 'orders cancel', 'orders ship'],
  ...['keys create', 'keys list', 'keys set-plan', 'keys rotate', 'keys revoke', 'quota show', 'quota reset'],
  ...['quota list', 'ban set', 'ban lift', 'db check', 'db backup', 'db restore', 'config print'],
];

test('the program, each group of commands and each command print their help with --help and exit 0', async () => {
  const cwd = temporaryDirectory();
  const program = await run(['--help'], { cwd });
  assert.equal(program.code, 0);
  for (const command of COMMANDS) assert.ok(program.stdout.includes(`\n  ${command} `), command);
  for (const group of ['orders', 'keys', 'quota', 'ban', 'db']) {
    const { code, stdout } = await run([group, '-h'], { cwd });
    assert.ok(code === 0 && stdout.includes(`\nUsage: store-orders ${group} COMMAND [options]\n`), group);
  }
  for (const command of sampled(COMMANDS)) {
    const { code, stdout, stderr } = await run([...command.split(' '), '--help'], { cwd });
    assert.deepEqual([code, stderr], [0, ''], command);
    assert.ok(stdout.startsWith(`store-orders ${command}: `), stdout);
    assert.equal((await run(['help', ...command.split(' ')], { cwd })).stdout, stdout);
    assert.match(stdout, / {2}--db FILE .*\n/);
    assert.match(stdout, / {2}--json .*\n/);
  }
  assert.deepEqual(readdirSync(cwd), []);
});

test('--version prints the version of the package', async () => {
  const { code, stdout } = await run(['--version'], { cwd: temporaryDirectory() });
  assert.equal(code, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\S*\n$/);
});

test('the help describes the program, marks the default command, and shows the usage and the defaults of options', async () => {
  const cwd = temporaryDirectory();
  const { stdout: program } = await run(['--help'], { cwd });
  assert.match(program, /^store-orders: an HTTP server for the orders of an animal store/);
  assert.match(program, /\n {2}serve +.* \(the default command\)\n/);
  assert.equal((await run(['help'], { cwd })).stdout, program);
  const { stdout: serve } = await run(['serve', '--help'], { cwd });
  assert.match(serve, /\n {2}--port PORT +.* \[default: 8080\] \[env: PORT\]\n/);
  assert.match(serve, /\n {2}--redis-url URL +.* \[env: REDIS_URL\]\n/);
  assert.match(serve, /\n {2}--no-sample +[^[]* \[env: STORE_ORDERS_SAMPLE\]\n/);
  const { stdout: create } = await run(['keys', 'create', '--help'], { cwd });
  assert.match(create, /\nUsage: store-orders keys create --plan PLAN \[options\]\n/);
  assert.match(create, /\n {2}--plan PLAN +.* \(required\)\n/);
});

test('every example in the help of a command shows that command, with options that the command has', async () => {
  const cwd = temporaryDirectory();
  const helps = await Promise.all(COMMANDS.map((command) => run([...command.split(' '), '--help'], { cwd })));
  let examples = 0;
  for (const { stdout } of helps) {
    const [, command = ''] = /^store-orders ([^:]+):/.exec(stdout) ?? [];
    for (const [, example = ''] of stdout.matchAll(/^ {2}store-orders (.+)$/gm)) {
      examples++;
      assert.ok(example.startsWith(command), example);
      for (const [option] of example.matchAll(/--[a-z-]+/g))
        assert.match(stdout, new RegExp(`^ {2}${option}[ \n]`, 'm'));
    }
  }
  assert.ok(examples >= 8, `${examples}`);
});

/**
 * A Node.js option that makes the program print the name of each of its own modules to stderr when
 * it loads the module.
 */
const NAMES_MODULES = `--import=${moduleOf(`
  import { register } from 'node:module';
  register(${JSON.stringify(
    moduleOf(`
      import { writeSync } from 'node:fs';
      export async function load(url, context, next) {
        if (url.includes('/dist/')) writeSync(2, url.split('/dist/')[1] + '\\n');
        return next(url, context);
      }`),
  )});`)}`;

function moduleOf(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

test('a command loads no modules that only other commands need, and a start of the server none that only its pages need', async () => {
  const cwd = temporaryDirectory();
  const rows = [
    ['keys list', /^server\/(?:cli\/(?:orders|db|serve|quotas)|process|docs|listener\/server)|postgres|redis\/limiter/],
    ['serve --port http', /^server\/(?:process\/run-server|listener|docs|metrics)/],
    ['serve --host absent.invalid', /^server\/(?:cli\/(?:orders|keys|db|quotas)|docs\/page)|openapi|postgres|redis/],
  ] as const;
  for (const [command, spared] of rows) {
    const { stderr } = await run(command.split(' '), { cwd, env: { NODE_OPTIONS: NAMES_MODULES } });
    const loaded = stderr.split('\n');
    assert.ok(loaded.includes('server/cli/program.js'), stderr);
    assert.deepEqual(
      loaded.filter((name) => spared.test(name)),
      [],
    );
  }
});

test('if the arguments are wrong, the program prints one sentence and exits 2', async () => {
  const cwd = temporaryDirectory();
  const rows: readonly (readonly [args: string, says: string])[] = [
    ['import', 'unknown command "import"; did you mean "store-orders orders import"?'],
    ['ordrs', 'unknown command "ordrs"; did you mean "store-orders orders"?'],
    ['srve', 'unknown command "srve"; did you mean "store-orders serve"?'],
    ['frobnicate', 'unknown command "frobnicate"; run "store-orders --help"'],
    ['redis://:secret@host', 'unknown command; run "store-orders --help"'],
    ['orders', 'missing command after "orders"; expected one of import, list, export, show, cancel, ship'],
    ['config', 'missing command after "config"; expected print'],
    ['orders exprt', 'unknown command "orders exprt"; did you mean "store-orders orders export"?'],
    ['help orders exprt', 'unknown command "orders exprt"; did you mean "store-orders orders export"?'],
    ['orders show', 'missing ORDER_ID; run "store-orders orders show --help"'],
    ['orders show 1 2', 'unexpected argument "2"; run "store-orders orders show --help"'],
    ['orders show 01', 'ORDER_ID: expected a decimal int64, such as 7, not "01"'],
    ['orders show -1', 'unknown option -1; write -- before a negative number'],
    ['orders ship 1e0', 'ORDER_ID: expected a decimal int64, such as 7, not "1e0"'],
    ['keys revoke', 'missing KEY_ID; run "store-orders keys revoke --help"'],
    ['keys list --constructor', 'unknown option --constructor; run "store-orders keys list --help"'],
    ['--prot 80', 'unknown option --prot; did you mean --port?'],
    ['keys list --database_url x', 'unknown option --database_url; did you mean --database-url?'],
    ['keys revoke key_a so_secret', 'unexpected argument; run "store-orders keys revoke --help"'],
  ];
  for (const [args, says] of sampled(rows)) {
    assert.deepEqual(await run(args.split(' '), { cwd }), { code: 2, stdout: '', stderr: `store-orders: ${says}\n` });
  }
});

test('if the database is missing, a command prints a message, exits 1 and does not create the database', async () => {
  const cwd = temporaryDirectory();
  const commands = [
    ...['orders export', 'orders show 1', 'orders ship 1', 'keys list', 'keys revoke key_a', 'quota show key_a'],
    ...['quota reset key_a', 'ban lift key_a', 'db check', 'db backup copy.db'],
  ];
  for (const command of sampled(commands)) {
    assert.deepEqual(await run([...command.split(' '), '--db', 'absent.db'], { cwd }), {
      code: 1,
      stdout: '',
      stderr: 'store-orders: there is no database absent.db; check --db, or start the server to create it\n',
    });
  }
  assert.deepEqual(readdirSync(cwd), []);
});

test('every command except serve refuses a database in memory, because the effect of the command would be lost', async () => {
  const cwd = temporaryDirectory();
  for (const command of ['keys create --plan free', 'orders import -', 'keys list', 'db check']) {
    assert.deepEqual(await run([...command.split(' '), '--db', ':memory:'], { cwd, input: '{"id":1}' }), {
      code: 2,
      stdout: '',
      stderr: 'store-orders: a database in memory would be lost when this command ends; name a file with --db\n',
    });
  }
});

test('if the database fails, a command prints one line and exits 1', async () => {
  const cwd = temporaryDirectory();
  await run(['orders', 'import', '-'], { cwd, input: '[]' });
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  database.exec("CREATE TRIGGER full BEFORE INSERT ON keys BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  database.close();
  const { code, stdout, stderr } = await run(['keys', 'create', '--plan', 'free'], { cwd });
  assert.deepEqual([code, stdout, stderr], [1, '', 'store-orders: cannot use store-orders.db: the disk is full\n']);
});

test('a command refuses a file that does not belong to this program, and leaves the file unchanged', async () => {
  const cwd = temporaryDirectory();
  const foreign = openSqliteDatabase(join(cwd, 'foreign.db'));
  foreign.exec('CREATE TABLE cats (name TEXT)');
  foreign.close();
  writeFileSync(join(cwd, 'text.db'), 'no database at all, '.repeat(100));
  mkdirSync(join(cwd, 'directory.db'));
  for (const [file, says] of [
    ['foreign.db', /^store-orders: cannot (open|read) foreign\.db: .*holds other tables/],
    ['text.db', /^store-orders: cannot (open|read) text\.db: /],
    ['directory.db', /^store-orders: cannot (open|read) directory\.db: /],
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
