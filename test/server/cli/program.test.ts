import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runProgram } from '../../../dist/server/cli/program.js';
import { checkSnapshot } from '../../support/snapshot.js';

const COMMANDS = [
  ...['serve', 'orders import', 'orders list', 'orders export', 'orders show', 'orders cancel', 'orders ship'],
  ...['keys create', 'keys list', 'keys set-plan', 'keys rotate', 'keys revoke', 'quota show', 'quota reset'],
  ...['quota list', 'ban set', 'ban lift', 'ban list', 'db check', 'db backup', 'db restore', 'healthcheck'],
  ...['config print', 'openapi'],
];

const GROUPS = ['orders', 'keys', 'quota', 'ban', 'db', 'config'];

/** Runs the program in this process, and returns what it prints. */
async function output(t: TestContext, ...words: readonly string[]): Promise<string> {
  let printed = '';
  const write = process.stdout.write.bind(process.stdout);
  // The test runner reports on the same stream, without a callback.
  const { mock } = t.mock.method(process.stdout, 'write', (text: string, done?: () => void) => {
    if (done === undefined) return write(text);
    printed += text;
    done();
    return true;
  });
  assert.equal(await runProgram(words, {}), 0);
  mock.restore();
  return printed;
}

test('the help of the program, of each group and of each command is help.txt; its examples use only options that exist', async (t) => {
  const texts = [];
  for (const name of ['', ...GROUPS, ...COMMANDS]) {
    const help = await output(t, 'help', ...name.split(' ').filter(Boolean));
    texts.push(help);
    if (!COMMANDS.includes(name)) continue;
    const examples = help.slice(help.indexOf('\nExamples:\n'));
    for (const [option] of examples.matchAll(/--[a-z-]+/g)) assert.match(help, new RegExp(`^ {2}${option}[ \n]`, 'm'));
  }
  checkSnapshot('help.txt', texts.join('\n'));
  assert.equal(await output(t, '--help'), texts[0]);
  assert.equal(await output(t, 'keys', '-h'), texts[2]);
  const { version } = JSON.parse(await output(t, '--version', '--json'));
  assert.match(version, /^\d+\.\d+\.\d+/);
  for (const word of ['--version', '-v', 'version']) assert.equal(await output(t, word), `${version}\n`);
});
