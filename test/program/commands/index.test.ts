import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { runProgram } from '../../../dist/program/commands/index.js';
import { checkSnapshot } from '../../support/snapshot.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { programIn } from '../support/program.js';

const COMMANDS = [
  ...['serve', 'orders import', 'orders list', 'orders export', 'orders show', 'orders cancel', 'orders ship'],
  ...['keys create', 'keys list', 'keys set-plan', 'keys rotate', 'keys revoke', 'quota show', 'quota reset'],
  ...['quota list', 'ban set', 'ban lift', 'ban list', 'db check', 'db backup', 'db restore', 'healthcheck'],
  ...['config print', 'openapi'],
];

/** Runs the program in this process, with words or with one text in which spaces separate the words. */
async function run(t: TestContext, args: string | readonly string[]) {
  const printed = { stdout: '', stderr: '' };
  const mocks = (['stdout', 'stderr'] as const).map((name) => {
    const write = process[name].write.bind(process[name]);
    // The test runner writes to the same streams, without a callback.
    return t.mock.method(process[name], 'write', (text: string, done?: () => void) => {
      if (done === undefined) return write(text);
      printed[name] += text;
      done();
      return true;
    });
  });
  const code = await runProgram(typeof args === 'string' ? args.split(' ') : args, {});
  for (const { mock } of mocks) mock.restore();
  return { code, ...printed };
}

async function output(t: TestContext, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(t, words);
  assert.deepEqual([code, stderr], [0, '']);
  return stdout;
}

test('the help of the program, of a group and of each command is help.txt; its examples use only options that exist', async (t) => {
  const texts = [];
  for (const name of ['', 'keys', ...COMMANDS]) {
    const help = await output(t, 'help', ...name.split(' ').filter(Boolean));
    texts.push(help);
    if (!COMMANDS.includes(name)) continue;
    const examples = help.slice(help.indexOf('\nExamples:\n'));
    for (const [option] of examples.matchAll(/--[a-z-]+/g)) assert.match(help, new RegExp(`^ {2}${option}[ \n]`, 'm'));
  }
  checkSnapshot('help.txt', texts.join('\n'));
  assert.equal(await output(t, '--help'), texts[0]);
  assert.equal(await output(t, 'keys', '-h'), texts[1]);
  const { version } = JSON.parse(await output(t, '--version', '--json'));
  assert.match(version, /^\d+\.\d+\.\d+/);
  for (const word of ['--version', '-v', 'version']) assert.equal(await output(t, word), `${version}\n`);
});

const FOR = '--for: expected a time up to 365d, such as 90s, 10m, 2h or 7d';
const COUNT = 'expected a whole number from 1 to 1000000000';
const LIKE_A_KEY = `so_${'a'.repeat(38)}`;
const STATUSES = '--statuses: expected lower-case words separated by commas, such as returned,on_hold';

const MISUSES: readonly (readonly [args: string | readonly string[], says: string])[] = [
  ['ordrs', 'unknown command "ordrs"; did you mean "store-orders orders"?'],
  ['list', 'unknown command "list"; did you mean "store-orders orders list"?'],
  // One letter away from "list", and two from "lift".
  ['lists', 'unknown command "lists"; did you mean "store-orders orders list"?'],
  ['ba', 'unknown command "ba"; did you mean "store-orders ban"?'],
  ['dbs', 'unknown command "dbs"; did you mean "store-orders db"?'],
  ['dd', 'unknown command "dd"; did you mean "store-orders db"?'],
  ['zz', 'unknown command "zz"; run "store-orders --help"'],
  ['banner', 'unknown command "banner"; run "store-orders --help"'],
  ['start', 'unknown command "start"; did you mean "store-orders serve"?'],
  ['run', 'unknown command "run"; did you mean "store-orders serve"?'],
  ['--db x keys list', 'the options come after the command; write "store-orders keys ..." first'],
  ['--plan pro keys create', 'the options come after the command; write "store-orders keys ..." first'],
  ['--db keys --prot 80', 'the options come after the command; write "store-orders keys ..." first'],
  ['frobnicate', 'unknown command "frobnicate"; run "store-orders --help"'],
  ['redis://:secret@host', 'unknown command; run "store-orders --help"'],
  ['orders', 'missing command after "orders"; expected one of import, list, export, show, cancel, ship'],
  ['config', 'missing command after "config"; expected print'],
  ['keys delete x', 'unknown command "keys delete"; run "store-orders keys --help"'],
  ['keys --name list create', 'the options come after the command; write "store-orders keys create ..." first'],
  ['keys --db x list', 'the options come after the command; write "store-orders keys list ..." first'],
  ['help orders exprt', 'unknown command "orders exprt"; did you mean "store-orders orders export"?'],
  ['orders show', 'missing ORDER_ID; run "store-orders orders show --help"'],
  ['orders show 1 2', 'unexpected argument "2"; run "store-orders orders show --help"'],
  ['orders show 01', 'ORDER_ID: expected a decimal int64, such as 7, not "01"'],
  ['orders show -1', 'unknown option -1; write a negative number at the end, after --'],
  ['keys list --constructor', 'unknown option --constructor; run "store-orders keys list --help"'],
  ['--prot 80', 'unknown option --prot; did you mean --port?'],
  ['keys list --database_url x', 'unknown option --database_url; did you mean --database-url?'],
  [`keys revoke key_a ${LIKE_A_KEY}`, 'unexpected argument "so_***"; run "store-orders keys revoke --help"'],
  [LIKE_A_KEY, 'unknown command "so_***"; run "store-orders --help"'],
  [`orders show ${LIKE_A_KEY.slice(0, -1)}`, 'ORDER_ID: expected a decimal int64, such as 7, not "so_***"'],
  [`keys list --${LIKE_A_KEY}`, 'unknown option --so_***; run "store-orders keys list --help"'],
  ['keys create', 'missing required option --plan PLAN; run "store-orders keys create --help"'],
  ['keys create --plan gold', '--plan: expected the plan free, pro, business or enterprise, not "gold"'],
  [
    'keys create --plan enterprise',
    '--plan: the plan enterprise has no default quotas; set a quota per minute, per day or both',
  ],
  [
    'keys create --plan free --per-day 5',
    '--plan: the plan free has fixed quotas; only the plan enterprise can have other quotas',
  ],
  ['keys create --plan enterprise --per-day 0', `--per-day: ${COUNT}, not "0"`],
  ['keys create --plan enterprise --per-minute 9999999999', `--per-minute: ${COUNT}, not "9999999999"`],
  ['quota list --limit 0', `--limit: ${COUNT}, not "0"`],
  ['ban set key_a', 'missing required option --for TIME; run "store-orders ban set --help"'],
  ...['10', '0m', '1.5h', 'm', '-1s', '366d', '1w'].map(
    (time) => [`ban set key_a --for=${time}`, `${FOR}, not "${time}"`] as const,
  ),
  ...['', 'on hold', 'returned,', 'Returned'].map(
    (list) => [['orders', 'import', '-', '--statuses', list], `${STATUSES}, not "${list}"`] as const,
  ),
  ['orders import - --format xml', '--format: expected json or csv, not "xml"'],
  ...['keys create --plan free', 'orders import -', 'keys list', 'db check'].map((command) => {
    const says = 'a database in memory would be lost when this command ends; name a file with --db';
    return [`${command} --db :memory:`, says] as const;
  }),
];

function inNewDirectory(t: TestContext): void {
  const before = process.cwd();
  t.after(() => process.chdir(before));
  process.chdir(temporaryDirectory());
}

test('if the arguments are wrong, the program prints one sentence, exits 2 and creates no database', async (t) => {
  inNewDirectory(t);
  for (const [args, says] of MISUSES) {
    assert.deepEqual(await run(t, args), { code: 2, stdout: '', stderr: `store-orders: ${says}\n` });
  }
  for (const args of [`orders show ${LIKE_A_KEY} --json`, `--json orders show ${LIKE_A_KEY}`]) {
    const { stdout } = await run(t, args);
    assert.deepEqual(JSON.parse(stdout), { error: 'ORDER_ID: expected a decimal int64, such as 7, not "so_***"' });
  }
  const { stdout } = await run(t, 'orders show -- --json');
  assert.equal(stdout, '', 'an operand');
  assert.deepEqual(readdirSync('.'), []);
});

test('a command that cannot use the database that --db names prints a message and creates nothing', async (t) => {
  inNewDirectory(t);
  for (const command of [
    ...['orders list', 'orders show 1', 'orders ship 1', 'keys list', 'keys revoke key_a', 'quota show key_a'],
    ...['quota list', 'ban lift key_a', 'db check', 'db backup copy.db'],
  ]) {
    const stderr = 'store-orders: there is no database absent.db; check --db, or start the server to create it\n';
    assert.deepEqual(await run(t, `${command} --db absent.db`), { code: 1, stdout: '', stderr });
  }
  const { stderr } = await run(t, 'keys create --plan free --db absent/new.db');
  const advice = 'check that its directory exists and that both are readable and writable';
  assert.equal(stderr, `store-orders: cannot open absent/new.db: ${advice}\n`);
  assert.deepEqual(readdirSync('.'), []);
});

test('a warning of Node.js is printed, unless it says that a feature is experimental', async () => {
  const warn = "process.emitWarning('good');process.emitWarning('bad','ExperimentalWarning')";
  const env = { NODE_OPTIONS: `--import=data:text/javascript,process.once('beforeExit',()=>{${warn}})` };
  const { stdout, stderr } = await programIn({ env }).run('--version');
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  assert.match(stderr, /^\(node:\d+\) Warning: good\n\(Use [^\n]+\)\n$/);
});
