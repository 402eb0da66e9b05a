import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { testBanCommands } from '../support/ban-commands.js';
import { run } from '../support/program.js';

testBanCommands({ name: 'in the file', env: () => ({}), place: () => 'store-orders.db' });

test('"ban set" refuses an invalid or missing duration', async () => {
  const cwd = temporaryDirectory();
  const ban = (...args: readonly string[]) => run(['ban', 'set', 'key_a', ...args], { cwd });
  for (const time of ['10', '0m', '1.5h', 'm', '-1s', '366d', '1w', '999999999d']) {
    const { code, stderr } = await ban(`--for=${time}`);
    const says = `--for: expected a time up to 365d, such as 90s, 10m, 2h or 7d, not ${JSON.stringify(time)}`;
    assert.deepEqual([code, stderr], [2, `store-orders: ${says}\n`]);
  }
  const { code, stderr } = await ban();
  assert.deepEqual(
    [code, stderr],
    [2, 'store-orders: missing required option --for TIME; run "store-orders ban set --help"\n'],
  );
  const list = await run(['quota', 'list', '--limit', '0'], { cwd });
  assert.deepEqual(
    [list.code, list.stderr],
    [2, 'store-orders: --limit: expected a whole number from 1 to 1000000000, not "0"\n'],
  );
});
