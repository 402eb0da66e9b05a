import { statSync } from 'node:fs';
import { SqliteFileError } from './failure.js';

/** The files that SQLite keeps beside a database in use. */
const COMPANIONS = ['-wal', '-shm'];
/** How often the companions are looked at: the database itself is, each time. */
const COMPANIONS_EVERY_MS = 100;

/** Which file a name means: the same text for as long as it is the same file, `undefined` when there is none. */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/**
 * Makes a check that a database in use is still the file of its name: what is written to a file that was moved, removed
 * or replaced is lost to the next process that opens the name. The check throws a {@link SqliteFileError} that says what
 * happened. Made when the database is open; `identity` is that of the file that was opened first.
 */
export function createFileWatch(file: string, identity: string): () => void {
  const companions = COMPANIONS.map((suffix) => ({ name: file + suffix, identity: identityOf(file + suffix) }));
  let lookedMs = Number.NEGATIVE_INFINITY;
  return () => {
    checkIdentity(file, identity);
    const nowMs = performance.now();
    if (nowMs - lookedMs < COMPANIONS_EVERY_MS) return;
    for (const { name, identity } of companions) if (identity !== undefined) checkIdentity(name, identity);
    lookedMs = nowMs;
  };
}

/** Throws unless the name means this file. */
export function checkIdentity(file: string, expected: string): void {
  const found = identityOf(file);
  if (found === expected) return;
  throw new SqliteFileError(
    found === undefined
      ? `${file} was moved or removed while it is in use; put it back, or stop the server and restore a backup`
      : `${file} was replaced by another file while it is in use; restart the server to serve what is there now`,
    'moved',
  );
}
