import { chmodSync, chownSync, existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { failureOf, isResult } from '../../databases/sqlite/failure.js';
import { isOurs } from '../../databases/sqlite/migration.js';
import { type CommandResult, done, failed } from '../command-result.js';
import { putInPlace, withCopy } from './backup.js';
import { hasForeignJournal } from './existing-file.js';
import { lockForServer } from './server-lock.js';

/**
 * Replaces a database with a copy of a backup, and removes the log and the journal of the old
 * database. The backup is checked first, and kept.
 */
export function restore(backup: string, file: string): CommandResult {
  if (!existsSync(backup)) return failed(`there is no backup ${backup}`);
  // Replaces the file to which a symbolic link points, not the link.
  const target = existsSync(file) ? realpathSync(file) : file;
  if (realpathSync(backup) === target) return failed(`${backup} is the database itself; move it to another name first`);
  const unlock = lockForServer(target);
  if (unlock === undefined) return failed(`a server runs on ${file}; stop it first`);
  try {
    return withCopy(backup, target, (copy) => {
      if (!removeLog(target, file))
        return failed(`another process uses ${file}; wait for it or stop it, then try again`);
      keepAccess(target, copy);
      const bytes = putInPlace(copy, target);
      return done(`restored ${file} from ${backup}, ${bytes} bytes`, { file, backup, bytes });
    });
  } finally {
    unlock();
  }
}

/** Gives the copy the mode and, if this is root, the owner of the file that it replaces. */
function keepAccess(replaced: string, copy: string): void {
  const stats = statSync(replaced, { throwIfNoEntry: false });
  if (stats === undefined) return;
  chmodSync(copy, stats.mode);
  if (process.geteuid?.() === 0) chownSync(copy, stats.uid, stats.gid);
}

/**
 * Removes the log and the journal of the old database, because SQLite would apply them to the new
 * one. SQLite first applies them to the old one, so that no change is lost if the restore is
 * interrupted. This step is skipped if the old database is damaged or has a foreign journal.
 * Returns `false` if the old database is in use. Throws an error that calls it `name` if it belongs
 * to another program.
 */
function removeLog(file: string, name: string): boolean {
  if (existsSync(file) && !hasForeignJournal(file)) {
    const database = openSqliteDatabase(file);
    try {
      // Throws if the database belongs to another program. The result does not matter here.
      isOurs(database);
      // These fail if another process uses the database with or without a log.
      database.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; ROLLBACK');
    } catch (error) {
      if (isResult(error, 'busy')) return false;
      if (!isResult(error, 'damaged')) throw failureOf(error, name, 'open');
    } finally {
      database.close();
    }
  }
  for (const suffix of ['-journal', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  return true;
}
