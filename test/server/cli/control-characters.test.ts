import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase } from 'store-orders/sqlite';
import { programIn } from '../support/program.js';

/** An escape sequence that changes the terminal's title, and one that begins with a C1 control. */
const CONTROLS = '\x1b]0;mine\x07\x9b31m';
const ESCAPED = String.raw`\u001b]0;mine\u0007\u009b31m`;

test('control characters from the database do not reach the terminal', async () => {
  const { output, json, cwd } = programIn();
  await output('orders import -', '{"id":7}');
  const { id } = Object(await json(['keys', 'create', '--plan', 'free', '--name', CONTROLS]));
  await output(`ban set ${id} --for 1h`);
  const database = openSqliteDatabase(join(cwd, 'store-orders.db'));
  database.prepare('UPDATE orders SET status = ?').run(CONTROLS);
  database.close();
  for (const command of ['orders list', 'orders show 7', 'keys list', 'quota list', 'db check']) {
    const text = await output(command);
    assert.ok(text.includes(ESCAPED), `${command}: ${JSON.stringify(text)}`);
    assert.doesNotMatch(text, /[^\P{Cc}\n]/u, command);
  }
});
