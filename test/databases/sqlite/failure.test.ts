import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureOf } from '../../../dist/databases/sqlite/failure.js';

for (const { errcode, code, kind, says } of [
  {
    errcode: 5,
    code: 'SQLITE_BUSY_RECOVERY',
    kind: 'busy',
    says: /^cannot write a\.db: another process .+ \(why\); try/,
  },
  { errcode: 1032, code: 'SQLITE_READONLY', kind: 'read_only', says: /^cannot write a\.db: .+ is read-only; / },
  { errcode: 522, code: 'SQLITE_IOERR_SHORT_READ', kind: 'io', says: /^cannot write a\.db: the disk failed \(why\); / },
  {
    errcode: 4874,
    code: 'SQLITE_IOERR_SHMSIZE',
    kind: 'full',
    says: /^cannot write a\.db: the disk is full; free some/,
  },
  { errcode: 13, code: 'SQLITE_FULL', kind: 'full', says: /^cannot write a\.db: the disk is full; free some space$/ },
  {
    errcode: 11,
    code: 'SQLITE_CORRUPT',
    kind: 'damaged',
    says: /^a\.db is damaged: why; stop the server, keep a copy/,
  },
  { errcode: 26, code: 'SQLITE_NOTADB', kind: 'not_a_database', says: /^a\.db is damaged: why; stop the server, keep/ },
  {
    errcode: 14,
    code: 'SQLITE_CANTOPEN',
    kind: 'cannot_open',
    says: /^cannot open a\.db: check that its directory exists/,
  },
  { errcode: 19, code: 'SQLITE_CONSTRAINT', kind: 'other', says: /^cannot write a\.db: why$/ },
]) {
  test(`${code} of any driver becomes a sentence about the file and what to do`, () => {
    for (const driver of [{ errcode, code: 'ERR_SQLITE_ERROR' }, { code }]) {
      const failure = failureOf(Object.assign(new Error('why'), driver), 'a.db', 'write');
      assert.equal(failure.kind, kind);
      assert.match(failure.message, says);
    }
  });
}
