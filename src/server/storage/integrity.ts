import { isResult, prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { CURE } from '../../databases/sqlite/failure.js';

/**
 * Reads every page, and returns what is wrong, at most a hundred sentences; none when the database is sound. `quick`
 * leaves out whether indexes have what their tables have.
 */
export function problemsOf(database: SqliteDatabase, check: 'integrity' | 'quick' = 'integrity'): readonly string[] {
  try {
    const rows = prepare(database, `PRAGMA ${check}_check`).all();
    // The column's name is not always that of the check.
    const lines = rows.flatMap((row) => Object.values(row)).flatMap((text) => String(text).split('\n'));
    return lines.filter((line) => line !== 'ok' && !line.startsWith('***'));
  } catch (error) {
    if (!isResult(error, 'damaged')) throw error;
    return [error.message];
  }
}

export function damage(file: string, [first, ...more]: readonly string[]): string {
  return `${file} is damaged: ${first}${more.length === 0 ? '' : `, and ${more.length} more`}; ${CURE}`;
}
