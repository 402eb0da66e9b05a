import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { answerOf, MAIN } from '../support/program.js';

const ESC = String.fromCharCode(27);
const CTRL_C = String.fromCharCode(3);
const missing =
  spawnSync('script', ['--version']).stdout?.includes('util-linux') === true
    ? false
    : 'the program "script" of util-linux is not installed';

/** Runs the program on a new terminal of 80 columns and 12 rows. */
function onTerminal(t: TestContext, command: string, cwd: string, env: Readonly<Record<string, string>> = {}) {
  const line = `stty rows 12 cols 80; exec '${process.execPath}' '${MAIN}' ${command}`;
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    shown += piece;
  });
  const ended = once(child, 'close');
  return {
    shown: () => shown.replaceAll('\r\n', '\n'),
    type: (keys: string) => void child.stdin.write(keys),
    /** Waits until the program exits, and returns everything that it has shown. */
    async end(expectedCode = 0): Promise<string> {
      const [code] = await ended;
      assert.equal(code, expectedCode, shown);
      return shown.replaceAll('\r\n', '\n');
    },
  };
}

test('on a terminal, tables and errors have colours, unless NO_COLOR is set', { skip: missing }, async (t) => {
  const cwd = temporaryDirectory();
  await answerOf(['orders', 'import', '-'], { cwd, input: '{"id":1}\n{"id":2,"status":"shipped"}' });
  const listed = await onTerminal(t, 'orders list', cwd).end();
  assert.ok(
    listed.includes(`${ESC}[33mpending${ESC}[39m\n`) && listed.includes(`${ESC}[32mshipped${ESC}[39m\n`),
    listed,
  );
  assert.ok((await onTerminal(t, 'orders list', cwd, { NO_COLOR: '1' }).end()).startsWith('ID  PET ID'));
  const complaint = await onTerminal(t, 'orders ship 2', cwd).end(1);
  assert.ok(complaint.startsWith(`${ESC}[31mstore-orders${ESC}[39m: the order 2`), complaint);
});

test('an import draws a progress bar, and removes it at the end', { skip: missing }, async (t) => {
  const cwd = temporaryDirectory();
  const lines = Array.from({ length: 20_000 }, (_, id) => `{"id":${id}}`).join('\n');
  writeFileSync(join(cwd, 'orders.ndjson'), lines);
  const shown = await onTerminal(t, 'orders import orders.ndjson', cwd).end();
  const parts = Array.from(shown.matchAll(/\rimporting \[=* *\] (\d+) %/g), ([, part]) => Number(part));
  assert.ok(parts.length >= 3, shown);
  assert.deepEqual(
    parts,
    [...parts].sort((a, b) => a - b),
  );
  assert.match(shown, /\r +\r20000 orders imported: 20000 pending\n$/);
});

test('Ctrl-C during an import removes the progress bar and says that nothing was imported', {
  skip: missing,
}, async (t) => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'orders.ndjson'), Array.from({ length: 400_000 }, (_, id) => `{"id":${id}}`).join('\n'));
  const terminal = onTerminal(t, 'orders import orders.ndjson', cwd);
  await until(() => / [1-9] %/.test(terminal.shown()));
  terminal.type(CTRL_C);
  const shown = await terminal.end(1);
  assert.ok(shown.endsWith(': interrupted; nothing was imported\n'), shown);
  assert.match(shown.slice(shown.lastIndexOf('%')), /^%[^\r]*\r +\r[^\r]*\n$/);
});

test('on a terminal, "serve" prints readable log lines; from the second start on, it also prints a short guide', {
  skip: missing,
}, async (t) => {
  const cwd = temporaryDirectory();
  const ready = / listening url=http:\/\/127\.0\.0\.1:\d+\/v1 db=store-orders\.db\n/;
  for (const says of [
    /^Created store-orders\.db with 10 sample orders /,
    /^Documentation: http:\S+\/docs\nAnother key: /,
  ]) {
    const terminal = onTerminal(t, 'serve --port 0', cwd);
    await until(() => ready.test(terminal.shown()));
    terminal.type(CTRL_C);
    const shown = await terminal.end();
    assert.match(shown, says);
    assert.match(shown, / stopping signal=SIGINT\n\S+ stopped\n$/);
  }
  assert.equal(
    Object(await answerOf(['keys', 'list'], { cwd })).length,
    3,
    'only the first start has created demo keys',
  );
});
