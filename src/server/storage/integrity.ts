import { isDamaged, prepare } from '../../databases/sqlite/database.js';
import type { SqliteDatabase } from '../../orders/sqlite/index.js';
import { reasonOf } from './sqlite.js';

/** Reads every page, and answers with what is wrong, at most a hundred sentences; none when the database is sound. */
export function problemsOf(database: SqliteDatabase): readonly string[] {
  try {
    const rows = prepare(database, 'PRAGMA integrity_check').all();
    const lines = rows.flatMap((row) => String(row['integrity_check']).split('\n'));
    return lines.filter((line) => line !== 'ok' && !line.startsWith('***'));
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return [error.message];
  }
}

export function damage([first, ...more]: readonly string[]): string {
  return (
    `it is damaged: ${first}${more.length === 0 ? '' : `, and ${more.length} more`}; ` +
    'stop the server, keep the file and its -wal, and put the newest sound backup in its place'
  );
}

/** What a failure of reading a database comes to, for a person. */
export function troubleOf(error: unknown): string {
  return isDamaged(error) ? damage([error.message]) : reasonOf(error);
}
