import { existsSync, realpathSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { isResult, prepare } from '../../databases/sqlite/database.js';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { done, failed, type Outcome } from '../outcome.js';
import { putInPlace, withCopy } from './backup.js';
import { refusalOf } from './file-check.js';
import { takeServerPlace } from './server-lock.js';
import { reasonOf } from './sqlite.js';

/**
 * Replaces a database with a copy of a backup, and removes the log files of the old database. The
 * backup is checked before anything is changed. It is not removed.
 */
export async function restore(backup: string, file: string): Promise<Outcome> {
  if (!existsSync(backup)) return failed(`there is no backup ${backup}`);
  // Replaces the file to which a symbolic link points, not the link.
  const target = existsSync(file) ? realpathSync(file) : resolve(file);
  if (realpathSync(backup) === target) return failed(`${backup} is the database itself; move it to another name first`);
  const refusal = refusalOf(backup);
  if (refusal !== undefined) return failed(`${backup}: ${reasonOf(refusal)}`);
  // The log of the old database will be removed, so the log is not checked.
  const objection = refusalOf(target, { withLog: false });
  if (objection !== undefined) return failed(`${file}: ${reasonOf(objection)}`);
  const leave = takeServerPlace(target);
  if (leave === undefined) return failed(`a server runs on ${file}; stop it first`);
  try {
    return await withCopy(backup, target, (copy) => {
      if (!endLog(target)) return failed(`another process uses ${file}; wait for it or stop it, then try again`);
      const bytes = putInPlace(copy, target);
      return done(`restored ${file} from ${backup}, ${bytes} bytes`, { file, backup, bytes });
    });
  } finally {
    leave();
  }
}

/**
 * Removes the log of the old database, because SQLite would apply it to the new one. The log is
 * first written into the old database, so that a restore interrupted here leaves the old database
 * complete. If the old database is damaged, or the log belongs to another file, the log is only
 * removed. Returns `false` if the database is in use.
 */
function endLog(file: string): boolean {
  if (existsSync(file) && refusalOf(file) === undefined) {
    try {
      const database = openSqliteDatabase(file);
      try {
        const [row] = prepare(database, 'PRAGMA journal_mode = DELETE').all();
        // SQLite removes the log only if this is the only connection. Otherwise the log stays, and
        // no error is thrown.
        if (row?.['journal_mode'] !== 'delete') return false;
      } finally {
        database.close();
      }
    } catch (error) {
      if (isResult(error, 'busy')) return false;
    }
  }
  for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
  return true;
}
