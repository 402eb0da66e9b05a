import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureOf } from '../../../dist/databases/sqlite/failure.js';

const WRITE = 'cannot write a.db';
const FULL = `${WRITE}: the disk is full; free some space`;
const CANNOT_OPEN = 'cannot open a.db: check that its directory exists and that both are readable and writable';
const DAMAGED =
  'a.db is damaged: why; stop the server, keep a copy of the file and its -wal file, then run db restore with a sound backup';

for (const [errcode, code, kind, message] of [
  [5, 'SQLITE_BUSY_RECOVERY', 'busy', `${WRITE}: another process has held its lock for too long (why); try again`],
  [1032, 'SQLITE_READONLY', 'read_only', `${WRITE}: the file or its file system is read-only; make it writable`],
  [522, 'SQLITE_IOERR_SHORT_READ', 'io', `${WRITE}: the disk failed (why); check the disk and the system's log`],
  [4874, 'SQLITE_IOERR_SHMSIZE', 'full', FULL],
  [13, 'SQLITE_FULL', 'full', FULL],
  [11, 'SQLITE_CORRUPT', 'damaged', DAMAGED],
  [26, 'SQLITE_NOTADB', 'not_a_database', DAMAGED],
  [14, 'SQLITE_CANTOPEN', 'cannot_open', CANNOT_OPEN],
  [19, 'SQLITE_CONSTRAINT', 'other', `${WRITE}: why`],
] as const) {
  test(`${code} of any driver becomes a sentence about the file and what to do`, () => {
    for (const driver of [{ errcode, code: 'ERR_SQLITE_ERROR' }, { code }]) {
      const cause = Object.assign(new Error('why'), driver);
      const failure = failureOf(cause, 'a.db', 'write');
      assert.deepEqual([failure.kind, failure.message, failure.cause], [kind, message, cause]);
    }
  });
}
