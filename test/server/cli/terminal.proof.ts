import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, issueKey, run, startServer, until } from '../support/program.js';

const MAIN = fileURLToPath(new URL('../../../dist/server/main.js', import.meta.url));
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

test('"quota list --watch" keeps its list of keys up to date until Ctrl-C', { skip: missing }, async (t) => {
  const cwd = temporaryDirectory();
  const server = await startServer(t, { cwd });
  const { key, id } = await issueKey(cwd, 'enterprise', '--per-day', '10', '--name', 'shop');
  const banned = await issueKey(cwd, 'free');
  const terminal = onTerminal(t, 'quota list --watch', cwd);
  await until(() => terminal.shown().includes('no key has used any of its quotas'));
  for (let i = 0; i < 6; i++) await (await server.get(key)).arrayBuffer();
  await until(() => terminal.shown().includes(`4 of 10 per day  ${ESC}[32m████████░░░░░░░░░░░░${ESC}[39m`));
  await answerOf(['ban', 'set', banned.id, '--for', '1h'], { cwd });
  await until(() => terminal.shown().includes(`${ESC}[31m░░░░░░░░░░░░░░░░░░░░${ESC}[39m`));
  terminal.type(CTRL_C);
  const shown = await terminal.end();
  assert.ok(
    shown.startsWith(`${ESC}[?1049h${ESC}[?25l${ESC}[?7l${ESC}[Hstore-orders.db, `),
    'the list is shown on the alternate screen of the terminal',
  );
  assert.ok(shown.endsWith(`${ESC}[?7h${ESC}[?25h${ESC}[?1049l`), 'the terminal returns to its main screen');
  const last = shown.slice(shown.lastIndexOf(`${ESC}[H`));
  assert.ok(last.indexOf(banned.id) < last.indexOf(id), 'banned keys first');
});

test('"quota list --watch" shows only as many keys as fit on the terminal', { skip: missing }, async (t) => {
  const cwd = temporaryDirectory();
  const ids = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const { id } = await issueKey(cwd, 'free');
      await answerOf(['ban', 'set', id, '--for', '1h'], { cwd });
      return id;
    }),
  );
  const terminal = onTerminal(t, 'quota list --watch', cwd);
  await until(() => terminal.shown().includes('BANNED UNTIL'));
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  database.exec('DROP TABLE keys');
  database.close();
  const shown = await terminal.end(1);
  assert.match(shown, /store-orders.*: store-orders\.db: no such table: keys.*\n$/);
  const picture = shown.slice(0, shown.indexOf(`${ESC}[J`));
  assert.equal(ids.filter((id) => picture.includes(id)).length, 8);
});

test('--watch requires a terminal', async () => {
  const cwd = temporaryDirectory();
  const { code, stderr } = await run(['quota', 'list', '--watch'], { cwd });
  const says = 'store-orders: --watch needs a terminal; to print the list once, omit --watch\n';
  assert.deepEqual([code, stderr], [2, says]);
});

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
