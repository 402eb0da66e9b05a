import assert from 'node:assert/strict';
import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqliteDatabase, openSqliteOrderStore } from 'store-orders/sqlite';
import { failureOf } from '../../../dist/databases/sqlite/failure.js';
import { temporaryDirectory } from '../../support/temporary-file.js';

const WRITE = 'cannot write a.db';
const IO = `${WRITE}: the disk failed (why); check the disk, its free space and the system's log`;
const FULL = `${WRITE}: the disk is full; free some space`;
const CANNOT_OPEN = 'cannot open a.db: check that its directory exists and that both are readable and writable';
const DAMAGED =
  'a.db is damaged: why; stop the server, keep a copy of the file and its -wal file, then run db restore with a sound backup';

for (const [errcode, code, kind, message] of [
  [5, 'SQLITE_BUSY_RECOVERY', 'busy', `${WRITE}: another process has held its lock for too long (why); try again`],
  [1032, 'SQLITE_READONLY', 'read_only', `${WRITE}: the file or its file system is read-only; make it writable`],
  [522, 'SQLITE_IOERR_SHORT_READ', 'io', IO],
  [4874, 'SQLITE_IOERR_SHMSIZE', 'io', IO],
  [13, 'SQLITE_FULL', 'full', FULL],
  [11, 'SQLITE_CORRUPT', 'damaged', DAMAGED],
  [26, 'SQLITE_NOTADB', 'not_a_database', DAMAGED],
  [14, 'SQLITE_CANTOPEN', 'cannot_open', CANNOT_OPEN],
  [19, 'SQLITE_CONSTRAINT', 'other', `${WRITE}: why`],
] as const) {
  test(`${code} of any driver becomes a sentence about the file and what to do`, () => {
    const unnamed = { rawCode: errcode, code: `UNKNOWN_SQLITE_ERROR_${errcode}` };
    for (const driver of [{ errcode, code: 'ERR_SQLITE_ERROR' }, { code }, unnamed]) {
      const cause = Object.assign(new Error('why'), driver);
      const failure = failureOf(cause, 'a.db', 'write');
      assert.deepEqual([failure.kind, failure.message, failure.cause], [kind, message, cause]);
    }
  });
}

function databaseWith(file: string, sql: string): void {
  const database = openSqliteDatabase(file);
  database.exec(sql);
  database.close();
}

for (const [name, expected, make] of [
  ['a directory', 'cannot_open', (file: string) => mkdirSync(file)],
  ['a name in a missing directory', 'cannot_open', () => 'missing/a.db'],
  ['a name in a file', 'cannot_open', (file: string) => writeFileSync(file, '') ?? 'a.db/a.db'],
  ['a name that is too long', 'cannot_open', () => 'a'.repeat(300)],
  ['a file with two names', 'other', (file: string) => writeFileSync(file, '') ?? linkSync(file, `${file}.link`)],
  ['a text', 'not_a_database', (file: string) => writeFileSync(file, 'Felis catus, '.repeat(100))],
  ['a database of another program', 'other', (file: string) => databaseWith(file, 'CREATE TABLE cats (name TEXT)')],
] as const) {
  test(`opening ${name} fails with a SqliteFileError that has a kind and names the file`, () => {
    const directory = temporaryDirectory();
    const file = join(directory, make(join(directory, 'a.db')) ?? 'a.db');
    const isFailure = (error: unknown) => {
      const { name, kind, message } = Object(error);
      assert.deepEqual([name, kind], ['SqliteFileError', expected]);
      assert.ok(message.startsWith(`cannot open ${file}: `), message);
      return true;
    };
    assert.throws(() => openSqliteOrderStore(file), isFailure);
    if (expected === 'cannot_open') assert.throws(() => openSqliteDatabase(file), isFailure);
  });
}
