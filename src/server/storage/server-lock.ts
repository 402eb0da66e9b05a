import { isResult } from '../../databases/sqlite/database.js';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';

/**
 * The suffix of the file that is locked. The file stays empty. It is not removed while the database
 * exists, because two servers could then run at the same time.
 */
export const PLACE_SUFFIX = '-server';

/**
 * Locks a database file, by its real path, for one server, because two would overwrite each other's
 * quotas. Returns a function that unlocks it, or `undefined` if another server has the lock. The
 * system releases the lock of a killed server.
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
