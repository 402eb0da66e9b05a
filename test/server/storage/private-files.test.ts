import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { answerOf, programIn, run, startServer } from '../support/program.js';

const IS_UNIX = process.platform !== 'win32';

/** Returns the permissions of each file in a directory, by file name. */
function modes(directory: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(directory).map((name) => [name, (statSync(join(directory, name)).mode & 0o777).toString(8)]),
  );
}

test('every file that the program creates is private to its owner, whatever the umask', {
  skip: !IS_UNIX,
}, async (t) => {
  const cwd = temporaryDirectory();
  const under = ['sh', '-c', 'umask 000; exec "$@"', 'sh'];
  const server = await startServer(t, { cwd, under });
  await fetch(`${server.url}/store/orders`);
  await answerOf(['keys', 'create', '--plan', 'free'], { cwd, under });
  await answerOf(['db', 'backup', 'backup.db'], { cwd, under });
  const found = modes(cwd);
  for (const name of ['backup.db', 'store-orders.db', 'store-orders.db-server', 'store-orders.db-wal']) {
    assert.ok(name in found, name);
  }
  assert.deepEqual(new Set(Object.values(found)), new Set(['600']), JSON.stringify(found));
  await server.stop('SIGTERM');
  assert.equal((await run(['db', 'restore', 'backup.db', '--db', 'restored.db'], { cwd, under })).code, 0);
  await answerOf(['orders', 'import', '-', '--db', 'imported.db'], { cwd, under, input: '{"id":1}' });
  assert.deepEqual(new Set(Object.values(modes(cwd))), new Set(['600']), JSON.stringify(modes(cwd)));
});

test('a file that openSqliteOrderStore creates is private to its owner', { skip: !IS_UNIX }, async () => {
  const folder = join(temporaryDirectory(), 'host');
  mkdirSync(folder);
  const umask = process.umask(0);
  try {
    const store = openSqliteOrderStore(join(folder, 'orders.db'));
    await store.put([{ id: 1 }]);
    assert.deepEqual(new Set(Object.values(modes(folder))), new Set(['600']));
    await store.close();
  } finally {
    process.umask(umask);
  }
});

test('a database whose name looks like a URL is a file of that name, private to its owner', {
  skip: !IS_UNIX,
}, async () => {
  const { cwd, output } = programIn({ under: ['sh', '-c', 'umask 000; exec "$@"', 'sh'] });
  await output('orders import - --db file:shop.db?mode=ro', '{"id":1}');
  assert.deepEqual(modes(cwd), { 'file:shop.db?mode=ro': '600' });
});

test('openSqliteOrderStore refuses a link to a missing file, and creates nothing', { skip: !IS_UNIX }, () => {
  const folder = join(temporaryDirectory(), 'links');
  mkdirSync(folder);
  symlinkSync('missing.db', join(folder, 'link.db'));
  assert.throws(() => openSqliteOrderStore(join(folder, 'link.db')), { kind: 'cannot_open' });
  assert.deepEqual(readdirSync(folder), ['link.db']);
});
