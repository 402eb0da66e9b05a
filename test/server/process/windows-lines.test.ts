import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { until } from '../../support/until.js';
import { type RunOptions, run, startServer } from '../support/program.js';

const ON_WINDOWS = { NODE_OPTIONS: `--import=${new URL('./on-windows.mjs', import.meta.url).href}` };

/**
 * A line whose words cmd.exe and PowerShell pass to a program unchanged. In PowerShell, `curl` is
 * another command.
 */
const LINE = /^(?:curl\.exe|store-orders)(?: (?:[\w./:=-]+|"[^"%!$`\\]*"))+$/;

function words(line: string): readonly string[] {
  assert.match(line, LINE);
  return line.match(/(?<=")[^"]+(?=")|[^" ]+/g) ?? [];
}

test('the printed command lines work in cmd.exe and in PowerShell', async (t) => {
  const options: RunOptions = { cwd: temporaryDirectory(), env: ON_WINDOWS };
  const { stderr } = await startServer(t, options, '--db', 'my shop.db');
  // `startServer` waits only for a log line on stdout. The text on stderr may arrive later.
  await until(() => stderr().includes('Another key'));

  const requests = stderr().match(/(?<=^ {2})curl.*$/gm) ?? [];
  const statuses: number[] = [];
  for (const line of requests) {
    const given = words(line);
    const method = given[given.indexOf('-X') + 1] === 'DELETE' ? 'DELETE' : 'GET';
    const [, authorization = ''] = /^Authorization: (.*)$/.exec(given[given.indexOf('-H') + 1] ?? '') ?? [];
    statuses.push((await fetch(given.at(-1) ?? '', { method, headers: { authorization } })).status);
  }
  assert.deepEqual(statuses, [200, 204]);

  const [another = ''] = stderr().match(/(?<=^Another key: ).*$/m) ?? [];
  const { code, stdout } = await run(words(another).slice(1), options);
  assert.deepEqual([code, stdout.match(/so_\w{38}/g)?.length], [0, 1]);

  const refused = await run(['keys', 'revoke', 'key_0000000000', '--db', 'my shop.db'], options);
  const [, advice = ''] = /; run "(.*)"\n$/.exec(refused.stderr) ?? [];
  assert.deepEqual(words(advice), ['store-orders', 'keys', 'list', '--db', 'my shop.db']);
});
