import { statSync } from 'node:fs';
import { SqliteFileError } from './failure.js';

/**
 * Returns a text that identifies the file with this name, or `undefined` if there is none. The text
 * stays the same while the name refers to the same file.
 */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** Throws a {@link SqliteFileError} unless the name refers to the file with this identity. */
export function checkIdentity(file: string, expected: string | undefined): void {
  const found = identityOf(file);
  if (found === expected) return;
  throw new SqliteFileError(
    found === undefined
      ? `${file} was moved or removed while in use; put it back, or stop the server and restore a backup`
      : `${file} was replaced by another file while in use; restart the server to serve what is there now`,
    'moved',
  );
}

/**
 * Returns a function that throws if a name now refers to another file: that of the open database,
 * or of a file that SQLite keeps beside it. What is written to the opened file would then be lost.
 */
export function createIdentityCheck(file: string, identity: string): () => void {
  const beside = ['-wal', '-shm'].map((suffix) => [file + suffix, identityOf(file + suffix)] as const);
  return () => {
    checkIdentity(file, identity);
    for (const [name, identity] of beside) checkIdentity(name, identity);
  };
}
