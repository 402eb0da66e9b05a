import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { answerOf } from '../../program/support/program.js';
import { MAIN } from '../../program/support/run.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';

const CTRL_C = String.fromCharCode(3);
const ESCAPE = String.fromCharCode(27);
const isInstalled = spawnSync('script', ['--version']).stdout?.includes('util-linux') === true;
const skip = isInstalled ? false : 'the program "script" of util-linux is not installed';

function onTerminal(t: TestContext, cwd: string, words: string, env: Readonly<Record<string, string>> = {}) {
  const line = `stty cols 60; exec '${process.execPath}' '${MAIN}' ${words}`;
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => (shown += piece));
  return { child, ended: once(child, 'close'), shown: () => shown };
}

test('an import draws a progress bar, and removes it at the end', { skip }, async (t) => {
  const cwd = temporaryDirectory();
  const lines = Array.from({ length: 200_000 }, (_, id) => `{"id":${id}}\n`).join('');
  writeFileSync(join(cwd, 'orders.ndjson'), lines);
  const { ended, shown } = onTerminal(t, cwd, 'orders import orders.ndjson');
  assert.deepEqual(await ended, [0, null]);
  assert.match(shown(), /^\rimporting \[ {30}\] 0 %/);
  assert.match(shown(), /\rimporting \[=+ *\] [1-9]\d* %\r/);
  assert.match(shown(), /\r +\r200000 orders imported: 200000 pending\r\n$/);
  const empty = onTerminal(t, cwd, 'orders import /dev/null');
  await empty.ended;
  assert.match(empty.shown(), /^\rimporting \[={30}\] 100 %/);
});

test('on a terminal, a help text has bold headings and is wrapped at its width, and an error is red, unless NO_COLOR is set', {
  skip,
}, async (t) => {
  const cwd = temporaryDirectory();
  const show = async (words: string, env: Readonly<Record<string, string>> = {}) => {
    const { ended, shown } = onTerminal(t, cwd, words, env);
    await ended;
    return shown().replaceAll('\r', '').replaceAll(ESCAPE, '<ESC>');
  };
  const styled = await show('help keys list');
  assert.match(styled, /\n<ESC>\[1mUsage:<ESC>\[22m store-orders keys list \[options\]\n\n<ESC>\[1mOptions:/);
  assert.match(await show('frobnicate'), /^<ESC>\[31mstore-orders:<ESC>\[39m unknown command/);
  const plain = await show('help keys list', { NO_COLOR: '1' });
  assert.match(plain, /^store-orders keys list: Lists all keys with their plans,\nincluding revoked keys\.\n\nUsage:/);
  assert.match(plain, /\n {2}--db FILE {11}SQLite file; serve also accepts\n {22}:memory:, whose orders/);
  assert.match(plain, /\n {22}postgres:\/\/user:password@host:5432\/database\n {22}\[env: DATABASE_URL\]\n/);
  assert.match(
    await show('help', { NO_COLOR: '1' }),
    /\nExit codes: 0 success, 1 failure, 2 invalid command line or\nsettings\.\n$/,
  );
  assert.match(await show('frobnicate', { NO_COLOR: '1' }), /^store-orders: unknown command/);
});

test('on a terminal, "serve" prints readable log lines, of which the first says where the documentation is', {
  skip,
}, async (t) => {
  const cwd = temporaryDirectory();
  for (const says of [/^Created store-orders\.db with 10 sample orders\./, /^\S+ listening /]) {
    const { child, ended, shown } = onTerminal(t, cwd, 'serve --port 0');
    const text = () => shown().replaceAll('\r', '');
    await until(() =>
      / listening url=(http:\/\/127\.0\.0\.1:\d+)\/v1 docs=\1\/docs db=store-orders\.db\n/.test(text()),
    );
    child.stdin.write(CTRL_C);
    assert.deepEqual(await ended, [0, null]);
    assert.match(text(), says);
    assert.match(text(), / stopping signal=SIGINT\n\S+ stopped\n$/);
  }
  const keys = await answerOf(['keys', 'list'], { cwd });
  assert.equal(Object(keys).length, 3, 'only the first start has created demo keys');
});
