import { existsSync, realpathSync, rmSync } from 'node:fs';
import { createPrivately, openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { failureOf, isResult } from '../../databases/sqlite/failure.js';
import { identityOf } from '../../databases/sqlite/identity.js';

const LOCK_SUFFIX = '-server';

/**
 * Locks a database for one server, because two servers would overwrite each other's quotas. Returns
 * a function that unlocks the database, or `undefined` if another server has the lock. The operating
 * system releases the lock of a killed server.
 *
 * The lock file stays as long as the database, because two servers could otherwise lock two
 * different files.
 */
export function lockForServer(file: string): (() => void) | undefined {
  // All names of a file share one lock.
  const database = existsSync(file) ? realpathSync(file) : file;
  const name = database + LOCK_SUFFIX;
  createPrivately(name);
  const identity = identityOf(name);
  const lockFile = openSqliteDatabase(name);
  const unlock = () => {
    if (!existsSync(database)) rmSync(name, { force: true });
    lockFile.close();
  };
  let isLocked = false;
  try {
    lockFile.exec('BEGIN EXCLUSIVE');
    // A process that has just unlocked may have removed the file, and another may have created it.
    isLocked = identityOf(name) === identity;
  } catch (error) {
    if (!isResult(error, 'busy')) throw failureOf(error, name, 'read');
  } finally {
    if (!isLocked) lockFile.close();
  }
  return isLocked ? unlock : undefined;
}

/** Returns whether a server runs on a database of this name. */
export function hasServer(file: string): boolean {
  if (!existsSync(file + LOCK_SUFFIX)) return false;
  const unlock = lockForServer(file);
  unlock?.();
  return unlock === undefined;
}
