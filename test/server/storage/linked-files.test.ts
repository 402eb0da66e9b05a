import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { root } from '../../support/root.js';
import { temporaryDirectory } from '../../support/temporary-file.js';
import { issueKey, programIn, run, startServer } from '../support/program.js';

// No machine has this address (RFC 5737). So if a server accepts the file, it cannot listen, and
// exits with a different message.
const SERVE = ['serve', '--host', '192.0.2.1', '--db'];

test('a second server cannot use the database file of a running server, even if one of them opens it through a link', async (t) => {
  const cwd = temporaryDirectory();
  await issueKey(cwd, 'free');
  mkdirSync(join(cwd, 'elsewhere'));
  symlinkSync('../store-orders.db', join(cwd, 'elsewhere', 'link.db'));
  symlinkSync('elsewhere', join(cwd, 'way'));
  await startServer(t, { cwd }, '--db', 'elsewhere/link.db');
  for (const name of ['store-orders.db', './store-orders.db', 'elsewhere/link.db', 'way/link.db']) {
    const { code, stderr } = await run([...SERVE, name], { cwd });
    assert.deepEqual(
      [code, stderr],
      [
        1,
        `store-orders: cannot open ${name}: another server runs on it; stop it first, or name another file with --db\n`,
      ],
    );
  }
  assert.deepEqual(readdirSync(join(cwd, 'elsewhere')), ['link.db']);
});

/** A module that makes another server lock the database in the moment after it was created. */
const OTHER_SERVER = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import { openSqliteDatabase } from '${pathToFileURL(join(root, 'dist/orders/sqlite/index.js'))}';
  const { openSync } = fs;
  fs.openSync = (path, ...rest) => {
    const descriptor = openSync(path, ...rest);
    if (path === 'store-orders.db') {
      globalThis.lockFile = openSqliteDatabase('store-orders.db-server');
      globalThis.lockFile.exec('BEGIN EXCLUSIVE');
    }
    return descriptor;
  };
  syncBuiltinESMExports();
`;

test('of two servers that start on a new file at the same time, the second does not remove the file of the first', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'other-server.mjs'), OTHER_SERVER);
  const env = { NODE_OPTIONS: '--import ./other-server.mjs' };
  assert.match(await programIn({ cwd, env }).failure([...SERVE, 'store-orders.db']), /: another server runs on it; /);
  assert.ok(existsSync(join(cwd, 'store-orders.db')));
});

test('every command refuses a database file with two hard links, and accepts the file after one link is removed', async (t) => {
  const cwd = temporaryDirectory();
  const { key } = await issueKey(cwd, 'free');
  linkSync(join(cwd, 'store-orders.db'), join(cwd, 'second.db'));
  for (const args of [
    [...SERVE, 'second.db'],
    ['keys', 'list', '--db', 'second.db'],
    ['db', 'check', '--db', 'second.db'],
  ]) {
    const { code, stderr } = await run(args, { cwd });
    assert.equal(code, 1, `${args}`);
    assert.match(
      stderr,
      /second\.db: the file has 2 names \(hard links\), and SQLite keeps a log beside each; remove all names but one\n$/,
    );
  }
  assert.deepEqual(readdirSync(cwd), ['second.db', 'store-orders.db']);
  rmSync(join(cwd, 'store-orders.db'));
  renameSync(join(cwd, 'second.db'), join(cwd, 'store-orders.db'));
  const server = await startServer(t, { cwd });
  assert.equal((await server.get(key)).status, 200);
});

test('commands refuse a directory as the database, and leave no file behind', async () => {
  const { cwd, failure } = programIn();
  mkdirSync(join(cwd, 'folder'));
  for (const [command, operation] of [
    [SERVE.join(' '), 'open'],
    ['db check --db', 'read'],
  ]) {
    assert.equal(
      await failure(`${command} folder`),
      `cannot ${operation} folder: it is not a regular file; name another`,
    );
  }
  assert.deepEqual([readdirSync(cwd), readdirSync(join(cwd, 'folder'))], [['folder'], []]);
});
