import { existsSync } from 'node:fs';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';
import { failureOf, isResult } from '../../databases/sqlite/failure.js';

/**
 * The suffix of the lock file beside a database. The lock file stays as long as the database,
 * because two servers could otherwise lock two different files.
 */
export const LOCK_SUFFIX = '-server';

/**
 * Locks a database for one server, because two servers would overwrite each other's quotas. `file`
 * must be the real path of the database. Returns a function that unlocks the database, or
 * `undefined` if another server has the lock. The operating system releases the lock of a killed
 * server.
 */
export function lockForServer(file: string): (() => void) | undefined {
  const lockFile = openSqliteDatabase(file + LOCK_SUFFIX);
  try {
    lockFile.exec('BEGIN EXCLUSIVE');
    return () => void lockFile.close();
  } catch (error) {
    lockFile.close();
    if (isResult(error, 'busy')) return undefined;
    throw failureOf(error, file + LOCK_SUFFIX, 'read');
  }
}

/** Returns whether a server runs on a database of this name. */
export function hasServer(file: string): boolean {
  if (!existsSync(file + LOCK_SUFFIX)) return false;
  const unlock = lockForServer(file);
  unlock?.();
  return unlock === undefined;
}
