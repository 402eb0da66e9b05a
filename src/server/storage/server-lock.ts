import { isResult } from '../../databases/sqlite/database.js';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';

/**
 * The suffix of the locked file. It stays empty, and is never removed, because removing it could
 * let two servers in.
 */
export const PLACE_SUFFIX = '-server';

/**
 * Locks a database file, named by its real path, for the only server that may use it. Two servers
 * would overwrite each other's quotas. Returns a function that releases the lock, or `undefined` if
 * another server holds it. It is a lock of the operating system, so a killed server releases it.
 */
export function takeServerPlace(file: string): (() => void) | undefined {
  const place = openSqliteDatabase(file + PLACE_SUFFIX);
  try {
    place.prepare('PRAGMA busy_timeout = 0').get();
    place.exec('BEGIN EXCLUSIVE');
    return () => void place.close();
  } catch (error) {
    place.close();
    if (isResult(error, 'busy')) return undefined;
    throw error;
  }
}
