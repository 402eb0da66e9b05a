import assert from 'node:assert/strict';
import fs, { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createFile } from '../../../dist/program/storage/created-file.js';
import { lockForServer } from '../../../dist/program/storage/server-lock.js';
import { openServerSqliteStorage, openSqliteStorage } from '../../../dist/program/storage/sqlite.js';
import { sampled } from '../../support/sampled.js';
import { temporaryDirectory, temporaryFile } from '../../support/temporary-file.js';
import { change } from '../support/change.js';
import { commandsIn, programIn, startServer } from '../support/program.js';

const ADVICE = 'stop it first, or name another file with --db';

test('a second server cannot use the database file of a running server, even if one of them opens it through a link', async (t) => {
  const { cwd, output, failure } = commandsIn();
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
      `cannot open ${name}: another server runs on it; ${ADVICE}`,
    );
  }
  assert.deepEqual(readdirSync(join(cwd, 'elsewhere')), ['link.db']);
});

/** Runs `meanwhile` when this process has just called `fs[name]` with `file`, the first time. */
function onceAfter(t: TestContext, name: 'openSync' | 'statSync', file: string, meanwhile: () => void): void {
  const original = fs[name];
  let isOver = false;
  const replacement = new Proxy(original, {
    apply(target, self, args: readonly unknown[]) {
      const result = Reflect.apply(target, self, args);
      if (args[0] === file && !isOver) {
        isOver = true;
        meanwhile();
      }
      return result;
    },
  });
  t.mock.method(fs, name, replacement);
  syncBuiltinESMExports();
  t.after(syncBuiltinESMExports);
}

test('of two servers that start on a new file at the same time, one creates it, and the other removes nothing', async (t) => {
  const file = temporaryFile();
  const opened: ReturnType<typeof openServerSqliteStorage>[] = [];
  // The other server starts in the moment after this one has created the lock file.
  onceAfter(t, 'openSync', `${file}-server`, () => opened.push(openServerSqliteStorage(file)));
  opened.push(openServerSqliteStorage(file));
  const [winner, loser] = opened;
  assert.ok(winner?.ok);
  assert.deepEqual(loser, { ok: false, message: `cannot open ${file}: another server runs on it; ${ADVICE}` });
  await winner.storage.close();
  assert.ok(winner.created, 'the server that has the lock has created the file');
  winner.created.remove();
  assert.ok(!readdirSync(dirname(file)).some((name) => name.startsWith(basename(file))));
});

test('a server does not lock a file that the previous one has just removed', (t) => {
  const file = temporaryFile();
  onceAfter(t, 'statSync', `${file}-server`, () => fs.renameSync(`${file}-server`, `${file}-gone`));
  assert.equal(lockForServer(file), undefined);
});

test('a closed server unlocks its file; temporary files of SQLite are beside the first file', async () => {
  delete process.env['SQLITE_TMPDIR'];
  const file = temporaryFile();
  for (const _ of [1, 2]) {
    const opened = openServerSqliteStorage(file);
    assert.ok(opened.ok);
    await opened.storage.close();
  }
  assert.equal(process.env['SQLITE_TMPDIR'], dirname(file));
});

for (const [what, use] of [
  ['a server runs on it', (file) => lockForServer(file)],
  ['it has an order', (file) => change(file, "INSERT INTO orders (id, status) VALUES (1, 'pending')")],
  ['it has a key', (file) => change(file, "INSERT INTO keys (id, digest, plan, created_at) VALUES ('', '', '', '')")],
  ['it is unknown what is in it', (file) => fs.writeFileSync(file, 'Felis catus')],
] as const satisfies readonly (readonly [string, (file: string) => unknown])[]) {
  test(`a file that a failed command has created stays if ${what}`, async () => {
    const file = temporaryFile();
    const opened = openSqliteStorage(file, { create: true });
    assert.ok(opened.ok && opened.created);
    await opened.storage.close();
    use(file);
    opened.created.remove();
    assert.ok(fs.existsSync(file));
  });
}

test('a file that was created is removed if it cannot be opened', () => {
  const file = temporaryFile();
  const created = createFile(file);
  assert.ok(created && fs.existsSync(file));
  assert.equal(createFile(file), undefined);
  created.remove();
  assert.ok(!readdirSync(dirname(file)).some((name) => name.startsWith(basename(file))));
});

test('neither a command nor a server leaves a file on a full disk', {
  skip: process.platform === 'win32' && 'it needs ulimit',
}, async () => {
  const under = ['sh', '-c', `trap '' XFSZ; ulimit -f 4; exec "$@"`, 'sh'];
  const { cwd, failure } = programIn({ under });
  for (const command of ['keys create --plan free', 'serve --port 0']) {
    assert.match(await failure(command), /^cannot open store-orders\.db: the disk /);
    assert.deepEqual(readdirSync(cwd), [], command);
  }
});

test('without a SQLite driver, commands and servers say what to install, and leave no file', async () => {
  const cwd = temporaryDirectory();
  writeFileSync(join(cwd, 'copy'), '');
  const without = `import Module from 'node:module';
    const get = process.getBuiltinModule;
    process.getBuiltinModule = (name) => name === 'node:sqlite' ? undefined : get(name);
    Module.prototype.require = () => { throw new Error('no addons'); };`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(without)}` };
  for (const command of sampled(['keys create --plan free', 'serve', 'db restore copy', 'orders import -'])) {
    assert.match(
      await programIn({ cwd, env }).failure(command),
      /^cannot (open|read) store-orders\.db: no SQLite driver can be loaded \(no addons\); run "npm install libsql", /,
    );
    assert.deepEqual(readdirSync(cwd), ['copy'], command);
  }
});

test('no file is created in the place of one that was moved away from a running server', () => {
  const file = temporaryFile();
  const unlock = lockForServer(file);
  const message = `cannot open ${file}: it was moved away from a running server; put it back, or stop the server`;
  assert.deepEqual(openSqliteStorage(file, { create: true }), { ok: false, message });
  assert.deepEqual(openServerSqliteStorage(file), { ok: false, message });
  unlock?.();
});
