import assert from 'node:assert/strict';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { backUp } from '../../dist/program/storage/backup.js';
import { withUnmigratedFile } from '../../dist/program/storage/existing-file.js';
import { restore } from '../../dist/program/storage/restore.js';
import { openServerSqliteStorage, openSqliteStorage } from '../../dist/program/storage/sqlite.js';
import { temporaryDirectory } from '../support/temporary-file.js';

const DESCRIPTORS = '/proc/self/fd';

function skip(): string | false {
  if (!existsSync(DESCRIPTORS)) return `open descriptors are counted in ${DESCRIPTORS}: run this on Linux`;
  // libsql keeps the descriptors of a closed handle until its statements are garbage-collected.
  return process.getBuiltinModule?.('node:sqlite') === undefined && 'it needs node:sqlite: use Node.js 22.13 or newer';
}

/** Returns the names of the open files in a directory. */
function openFiles(directory: string): readonly string[] {
  const targets = readdirSync(DESCRIPTORS).map((name) => {
    try {
      return readlinkSync(join(DESCRIPTORS, name));
    } catch {
      return '';
    }
  });
  return targets.flatMap((target) => (target.startsWith(`${directory}/`) ? [basename(target)] : [])).sort();
}

test('a server and the commands on a file hold exactly the descriptors that they need', { skip: skip() }, async () => {
  const directory = temporaryDirectory();
  const [file, backup] = ['shop.db', 'backup.db'].map((name) => join(directory, name));
  assert.ok(file !== undefined && backup !== undefined);
  const created = openSqliteStorage(file, { create: true });
  assert.ok(created.ok);
  assert.deepEqual(openFiles(directory), ['shop.db', 'shop.db-shm', 'shop.db-wal']);
  await created.storage.close();
  assert.deepEqual(openFiles(directory), []);
  const opened = openServerSqliteStorage(file);
  assert.ok(opened.ok);
  await opened.storage.state();
  assert.ok(await opened.storage.keys.isEmpty());
  const reading = ['shop.db', 'shop.db-server', 'shop.db-server-journal', 'shop.db-shm', 'shop.db-wal'];
  assert.deepEqual(openFiles(directory), reading);
  assert.ok(!openServerSqliteStorage(file).ok);
  await opened.storage.close();
  assert.deepEqual(openFiles(directory), []);
  assert.equal(backUp(file, backup).exitCode, 0);
  for (const _ of [1, 2]) assert.equal(restore(backup, file).exitCode, 0);
  assert.throws(() => withUnmigratedFile(backup, () => assert.fail('no')), /no/);
  assert.deepEqual(openFiles(directory), []);
});
