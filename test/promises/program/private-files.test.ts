import assert from 'node:assert/strict';
import { chmodSync, chownSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteOrderStore } from 'store-orders/sqlite';
import { programIn, startServer } from '../../program/support/program.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const skip = process.platform === 'win32' && 'Windows has no such permissions';

/** Asserts that a directory has these files, and that all its files are private to their owner. */
function assertPrivate(directory: string, ...files: readonly string[]): void {
  const names = readdirSync(directory);
  for (const file of files) assert.ok(names.includes(file), file);
  for (const name of names) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
}

test('every file that the program creates is private to its owner, whatever the umask and the name', {
  skip,
}, async (t) => {
  const under = ['sh', '-c', 'umask 000; exec "$@"', 'sh'];
  const { cwd, output } = programIn({ under });
  const server = await startServer(t, { cwd, under });
  await output('keys create --plan free');
  await output('db backup file:copy.db');
  assertPrivate(cwd, 'file:copy.db', 'store-orders.db', 'store-orders.db-server', 'store-orders.db-wal');
  await server.stop('SIGTERM');
  await output('db restore file:copy.db --db restored.db');
  await output('orders import - --db file:shop.db?mode=ro', '{"id":1}');
  assertPrivate(cwd, 'restored.db', 'file:shop.db?mode=ro');
});

test('a file that openSqliteOrderStore creates is private to its owner', { skip }, async () => {
  const directory = temporaryDirectory();
  const umask = process.umask(0);
  try {
    const store = openSqliteOrderStore(join(directory, 'orders.db'));
    await store.put([{ id: 1 }]);
    assertPrivate(directory, 'orders.db', 'orders.db-wal');
    await store.close();
  } finally {
    process.umask(umask);
  }
});

test('openSqliteOrderStore refuses a link to a missing file, and creates nothing', { skip }, () => {
  const directory = temporaryDirectory();
  symlinkSync('missing.db', join(directory, 'link.db'));
  assert.throws(() => openSqliteOrderStore(join(directory, 'link.db')), { kind: 'cannot_open' });
  assert.deepEqual(readdirSync(directory), ['link.db']);
});

test('files that root creates belong to the owner of their directory; a restored database keeps its owner and mode', {
  skip: process.geteuid?.() !== 0 && 'needs root',
}, async () => {
  const { cwd, output } = programIn();
  chownSync(cwd, 1, 2);
  await output('keys create --plan free');
  await output('db backup copy.db');
  const file = join(cwd, 'store-orders.db');
  chownSync(file, 3, 4);
  chmodSync(file, 0o640);
  await output('db restore copy.db');
  const restored = statSync(file);
  assert.deepEqual([restored.uid, restored.gid, restored.mode & 0o777], [3, 4, 0o640]);
  for (const name of ['copy.db', 'store-orders.db-server']) {
    const { uid, gid } = statSync(join(cwd, name));
    assert.deepEqual([uid, gid], [1, 2], name);
  }
});
