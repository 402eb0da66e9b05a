import { isResult } from '../../databases/sqlite/database.js';
import { openSqliteDatabase } from '../../databases/sqlite/driver.js';

/** Of the file that is locked; it stays empty, and is never removed, because that could let two servers in. */
export const PLACE_SUFFIX = '-server';

/**
 * Takes the place of the one server that may run on a database file, named by its real path: two would overwrite each
 * other's quotas. Returns what frees it, or `undefined` when it is taken. It is a lock of the system's, so a killed
 * server leaves it free.
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
