import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { programIn } from '../support/program.js';

test('a warning of Node.js is printed, unless it says that a feature is experimental', async () => {
  const warn = "process.emitWarning('good');process.emitWarning('bad','ExperimentalWarning')";
  const env = { NODE_OPTIONS: `--import=data:text/javascript,process.once('beforeExit',()=>{${warn}})` };
  const { stdout, stderr } = await programIn({ env }).run('--version');
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  assert.match(stderr, /^\(node:\d+\) Warning: good\n\(Use [^\n]+\)\n$/);
});

test('a command that cannot use the database that --db names prints a message and creates nothing', async () => {
  const { failure, misuse, cwd } = programIn();
  for (const command of [
    ...['orders list', 'orders show 1', 'orders ship 1', 'keys list', 'keys revoke key_a', 'quota show key_a'],
    ...['quota list', 'ban lift key_a', 'db check', 'db backup copy.db'],
  ]) {
    assert.equal(
      await failure(`${command} --db absent.db`),
      'there is no database absent.db; check --db, or start the server to create it',
    );
  }
  assert.equal(
    await failure('keys create --plan free --db absent/new.db'),
    'cannot open absent/new.db: check that its directory exists and that both are readable and writable',
  );
  assert.match(
    await failure('serve --port 0 --db absent/new.db'),
    /^cannot open absent\/new\.db-server: check that its dir/,
  );
  for (const command of ['keys create --plan free', 'orders import -', 'keys list', 'db check']) {
    assert.equal(
      await misuse(`${command} --db :memory:`),
      'a database in memory would be lost when this command ends; name a file with --db',
    );
  }
  assert.deepEqual(readdirSync(cwd), []);
});
