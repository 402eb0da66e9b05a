import { statSync } from 'node:fs';
import { SqliteFileError } from './failure.js';

/** The suffixes of the files that SQLite keeps beside an open database. */
const COMPANIONS = ['-wal', '-shm'];
/**
 * Each check looks at the database file. The files beside it are looked at only if this time has
 * passed since the last look.
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
 * Returns a function that throws a {@link SqliteFileError} if the name no longer refers to the open
 * database. Data that is written after the file was moved, removed or replaced would be lost. Call
 * `createFileWatch` while the database is open. `identity` is the identity that the file had when
 * it was first opened.
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

/** Throws unless the name refers to the file with this identity. */
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
