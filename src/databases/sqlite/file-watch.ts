import { statSync } from 'node:fs';
import { SqliteFileError } from './failure.js';

/** The files that SQLite keeps beside an open database. */
const COMPANIONS = ['-wal', '-shm'];
/**
 * Every call of the check looks at the database itself, but at its companions at most once in this
 * time.
 */
const COMPANIONS_EVERY_MS = 100;

/**
 * Returns a text that identifies the file with this name, or `undefined` if there is none. The text
 * stays the same while the name refers to the same file.
 */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/**
 * Creates a check that the name still refers to the open database. Data that is written to a file
 * after it was moved, removed or replaced would be lost. The check throws a {@link SqliteFileError}
 * that explains what happened. Call this function while the database is open. `identity` is that of
 * the file when it was first opened.
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

/** Throws unless the name refers to this file. */
export function checkIdentity(file: string, expected: string): void {
  const found = identityOf(file);
  if (found === expected) return;
  throw new SqliteFileError(
    found === undefined
      ? `${file} was moved or removed while in use; put it back, or stop the server and restore a backup`
      : `${file} was replaced by another file while in use; restart the server to serve what is there now`,
    'moved',
  );
}
