import assert from 'node:assert/strict';
import fs, { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { lockForServer } from '../../../dist/server/storage/server-lock.js';
import { discardUnused, openServerSqliteStorage, openSqliteStorage } from '../../../dist/server/storage/sqlite.js';
import { temporaryFile } from '../../support/temporary-file.js';
import { programIn, startServer } from '../support/program.js';

test('a second server cannot use the database file of a running server, even if one of them opens it through a link', async (t) => {
  const { cwd, output, failure } = programIn();
  await output('keys create --plan free');
  mkdirSync(join(cwd, 'elsewhere'));
  symlinkSync('../store-orders.db', join(cwd, 'elsewhere', 'link.db'));
  symlinkSync('elsewhere', join(cwd, 'way'));
  await startServer(t, { cwd }, '--db', 'elsewhere/link.db');
  // No machine has the address 192.0.2.1 (RFC 5737). So if a server accepts the file, it cannot
  // listen, and exits with a different message.
  for (const name of ['store-orders.db', './store-orders.db', 'elsewhere/link.db', 'way/link.db']) {
    assert.equal(
      await failure(`serve --host 192.0.2.1 --db ${name}`),
      `cannot open ${name}: another server runs on it; stop it first, or name another file with --db`,
    );
  }
  assert.deepEqual(readdirSync(join(cwd, 'elsewhere')), ['link.db']);
});

test('of two servers that start on a new file at the same time, the second does not remove the file of the first', (t) => {
  const file = temporaryFile();
  const { openSync } = fs;
  t.after(() => {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  });
  // The other server locks the database in the moment after this one has created it.
  fs.openSync = (...args) => {
    const descriptor = openSync(...args);
    if (args[0] === file) t.after(lockForServer(file));
    return descriptor;
  };
  syncBuiltinESMExports();
  const message = `cannot open ${file}: another server runs on it; stop it first, or name another file with --db`;
  assert.deepEqual(openServerSqliteStorage(file), { ok: false, message });
  assert.ok(fs.existsSync(file));
});

test('a closed server unlocks its file; temporary files of SQLite are beside the first file; a file is kept if it is unknown whether it is used', async () => {
  delete process.env['SQLITE_TMPDIR'];
  const file = temporaryFile();
  for (const _ of [1, 2]) {
    const opened = openServerSqliteStorage(file);
    assert.ok(opened.ok);
    await opened.storage.close();
  }
  assert.equal(process.env['SQLITE_TMPDIR'], dirname(file));
  const opened = openSqliteStorage(temporaryFile(), { create: true });
  assert.ok(opened.ok);
  await discardUnused({ ...opened.storage, records: () => assert.fail() });
  assert.ok(fs.existsSync(opened.storage.name));
});
