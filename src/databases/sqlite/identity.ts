import { statSync } from 'node:fs';
import { cannotOpen, SqliteFileError } from './failure.js';

/** Returns a text that identifies the file of this name, or `undefined` if there is none. */
export function identityOf(file: string): string | undefined {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats && `${stats.dev}:${stats.ino}`;
  } catch (error) {
    throw cannotOpen(error, file);
  }
}

/** Throws a {@link SqliteFileError} unless each name refers to the file with this identity. */
export function checkIdentities(expected: ReadonlyMap<string, string | undefined>): void {
  for (const [file, identity] of expected) {
    const current = identityOf(file);
    if (current === identity) continue;
    throw new SqliteFileError(
      current === undefined
        ? `${file} was moved or removed while in use; put it back, or stop the server and restore a backup`
        : `${file} was replaced by another file while in use; restart the server to serve what is there now`,
      'moved',
    );
  }
}
