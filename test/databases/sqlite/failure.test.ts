import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureOf } from '../../../dist/databases/sqlite/failure.js';

for (const [errcode, code, kind, says] of [
  [5, 'SQLITE_BUSY_RECOVERY', 'busy', /^cannot write a\.db: another process .+ \(why\); try/],
  [1032, 'SQLITE_READONLY', 'read_only', /^cannot write a\.db: .+ is read-only; /],
  [522, 'SQLITE_IOERR_SHORT_READ', 'io', /^cannot write a\.db: the disk failed \(why\); /],
  [4874, 'SQLITE_IOERR_SHMSIZE', 'full', /^cannot write a\.db: the disk is full; free some/],
  [13, 'SQLITE_FULL', 'full', /^cannot write a\.db: the disk is full; free some space$/],
  [11, 'SQLITE_CORRUPT', 'damaged', /^a\.db is damaged: why; stop the server, keep a copy/],
  [26, 'SQLITE_NOTADB', 'not_a_database', /^a\.db is damaged: why; stop the server, keep/],
  [14, 'SQLITE_CANTOPEN', 'cannot_open', /^cannot open a\.db: check that its directory exists/],
  [19, 'SQLITE_CONSTRAINT', 'other', /^cannot write a\.db: why$/],
] as const) {
  test(`${code} of any driver becomes a sentence about the file and what to do`, () => {
    for (const driver of [{ errcode, code: 'ERR_SQLITE_ERROR' }, { code }]) {
      const failure = failureOf(Object.assign(new Error('why'), driver), 'a.db', 'write');
      assert.equal(failure.kind, kind);
      assert.match(failure.message, says);
    }
  });
}
