import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { answerOf, MAIN } from '../support/program.js';

const CTRL_C = String.fromCharCode(3);
const isInstalled = spawnSync('script', ['--version']).stdout?.includes('util-linux') === true;

test('on a terminal, "serve" prints readable log lines; from the second start on, it also prints a short guide', {
  skip: isInstalled ? false : 'the program "script" of util-linux is not installed',
}, async (t) => {
  const cwd = temporaryDirectory();
  for (const says of [
    /^Created store-orders\.db with 10 sample orders\./,
    /^Documentation: http:\S+\/docs\nAnother key: /,
  ]) {
    const line = `exec '${process.execPath}' '${MAIN}' serve --port 0`;
    const child = spawn('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null'], {
      cwd,
      env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm-256color' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    let shown = '';
    child.stdout.setEncoding('utf8').on('data', (piece) => {
      shown += piece.replaceAll('\r', '');
    });
    const ended = once(child, 'close');
    await until(() => / listening url=http:\/\/127\.0\.0\.1:\d+\/v1 db=store-orders\.db\n/.test(shown));
    child.stdin.write(CTRL_C);
    assert.deepEqual(await ended, [0, null]);
    assert.match(shown, says);
    assert.match(shown, / stopping signal=SIGINT\n\S+ stopped\n$/);
  }
  const keys = await answerOf(['keys', 'list'], { cwd });
  assert.equal(Object(keys).length, 3, 'only the first start has created demo keys');
});
