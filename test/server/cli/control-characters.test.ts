import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, run } from '../support/program.js';

/** An escape sequence that changes the terminal's title, and one that begins with a C1 control. */
const CONTROLS = '\x1b]0;mine\x07\x9b31m';
const ESCAPED = String.raw`\u001b]0;mine\u0007\u009b31m`;

test('control characters from the database do not reach the terminal', async () => {
  const cwd = temporaryDirectory();
  await answerOf(['orders', 'import', '-'], { cwd, input: '{"id":7}' });
  const key = Object(await answerOf(['keys', 'create', '--plan', 'free', '--name', CONTROLS], { cwd }));
  await answerOf(['ban', 'set', key.id, '--for', '1h'], { cwd });
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  database.prepare('UPDATE orders SET status = ?').run(CONTROLS);
  database.close();
  for (const command of ['orders list', 'orders show 7', 'keys list', 'quota list', 'db check']) {
    const { stdout, stderr } = await run(command.split(' '), { cwd });
    assert.ok((stdout + stderr).includes(ESCAPED), `${command}: ${JSON.stringify(stdout + stderr)}`);
    assert.doesNotMatch(stdout + stderr, /[^\P{Cc}\n]/u, command);
  }
});
