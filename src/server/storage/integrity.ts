import { isResult, prepare, type SqliteDatabase } from '../../databases/sqlite/database.js';
import { CURE } from '../../databases/sqlite/failure.js';

/**
 * Reads every page. Returns up to a hundred problems, or an empty list if the database is intact.
 */
export function problemsOf(database: SqliteDatabase): readonly string[] {
  try {
    const rows = prepare(database, 'PRAGMA integrity_check').all();
    const lines = rows.flatMap((row) => String(row['integrity_check']).split('\n'));
    return lines.filter((line) => line !== 'ok' && !line.startsWith('***'));
  } catch (error) {
    if (!isResult(error, 'damaged')) throw error;
    return [error.message];
  }
}

export function damage(file: string, [first, ...more]: readonly string[]): string {
  return `${file} is damaged: ${first}${more.length === 0 ? '' : `, and ${more.length} more`}; ${CURE}`;
}
