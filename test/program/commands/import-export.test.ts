import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { listenOnFreePort } from '../../support/listen.js';
import { commandsIn, onTerminal, programIn, programWithOrders } from '../support/program.js';
import { spawnProgram } from '../support/run.js';

// What an import reads and an export writes fails or ends in the middle.

test('an import that is interrupted while it connects to PostgreSQL ends with one sentence', async (t) => {
  const { cwd } = commandsIn();
  writeFileSync(join(cwd, 'orders.ndjson'), '{"id":1}\n');
  const silent = createServer();
  t.after(() => silent.close());
  const url = `postgres://127.0.0.1:${await listenOnFreePort(silent)}/shop`;
  const child = spawnProgram(['orders', 'import', 'orders.ndjson', '--database-url', url], { cwd });
  assert.ok(child.stderr !== null);
  const stderr = text(child.stderr);
  const [connection] = await once(silent, 'connection');
  child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 200));
  connection.destroy();
  assert.match(await stderr, /^store-orders: cannot open the database [^\n]+\n$/);
});

test('a stderr that cannot be written, as on a full disk, changes no exit code and ends no import', {
  skip: !existsSync('/dev/full') && 'needs Linux, whose /dev/full cannot be written',
}, async () => {
  const { cwd, output, run } = programIn({
    env: onTerminal('stderr'),
    under: ['sh', '-c', 'exec "$@" 2>/dev/full', 'sh'],
  });
  writeFileSync(join(cwd, 'orders.ndjson'), '{"id":1}\n');
  assert.equal((await run('frobnicate')).code, 2);
  assert.equal(await output('orders import orders.ndjson'), '1 order imported: 1 pending\n');
});

test('an input that cannot be read to its end is named, not the database', {
  skip: !existsSync('/proc/self/mem') && 'needs Linux, whose /proc/self/mem fails when it is read',
}, async () => {
  const { failure } = commandsIn();
  const message = 'cannot read /proc/self/mem: EIO: i/o error, read; nothing was imported';
  assert.equal(await failure('orders import /proc/self/mem'), message);
});

test('an output that does not fit on a full disk is reported as a failure of stdout, not of the database', {
  skip: !existsSync('/dev/full'),
}, async () => {
  const { output, cwd } = commandsIn();
  await output('orders import -', '{"id":1}');
  const { failure } = programIn({ cwd, under: ['sh', '-c', 'exec "$@" > /dev/full', 'sh'] });
  for (const command of ['orders export', 'orders export --format csv', 'orders list', 'keys list', '--help']) {
    assert.equal(await failure(command), 'cannot write to stdout: ENOSPC: no space left on device, write');
  }
  assert.equal(await failure('orders show 2 --json'), 'the order 2 does not exist');
  const unseen = await failure('keys create --plan free');
  const [, id = ''] =
    /: nobody has seen the key of (key_\w+); run "keys rotate \1" or "keys revoke \1"$/.exec(unseen) ?? [];
  assert.equal(await output(`keys revoke ${id}`), `${id} is revoked\n`);
});

test('an export whose reader closes the pipe ends without an error', async () => {
  const { cwd } = await programWithOrders(20_000, commandsIn());
  const child = spawnProgram(['orders', 'export'], { cwd });
  child.stdout?.once('data', () => child.stdout?.destroy());
  let stderr = '';
  child.stderr?.on('data', (chunk) => (stderr += chunk));
  assert.deepEqual(await once(child, 'close'), [0, null]);
  assert.equal(stderr, '');
});
