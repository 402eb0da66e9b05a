import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { cannotOpen, SqliteFileError } from './failure.js';

/** Returns a text that identifies the file of this name, or `undefined` if there is none. */
export function identityOf(file: string): string | undefined {
  const stats = statsOf(file);
  return stats && `${stats.dev}:${stats.ino}`;
}

function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch (error) {
    throw cannotOpen(error, file);
  }
}

/** Throws a {@link SqliteFileError} unless each name refers to the file with this identity. */
export function checkIdentities(expected: ReadonlyMap<string, string | undefined>): void {
  for (const [file, identity] of expected) {
    const current = identityOf(file);
    if (current === identity) continue;
    const isLog = /-(?:wal|shm)$/.test(file);
    const remedy = isLog
      ? 'stop the server without killing it, so that it saves the log, which it still has open'
      : 'stop the server and restore a backup';
    throw new SqliteFileError(
      current === undefined
        ? `${file} was moved or removed while in use; put it back, or ${remedy}`
        : `${file} was replaced by another file while in use; restart the server to serve what is there now`,
      'moved',
    );
  }
}

/**
 * Throws unless the file is a regular file that has one name and is not mounted by itself. Under
 * another name, or beside another mount of it, SQLite would keep another log. A missing file is
 * accepted.
 */
export function checkNames(file: string): void {
  const stats = statsOf(file);
  if (stats === undefined) return;
  if (!stats.isFile()) throw new Error('it is not a regular file; name another');
  if (stats.nlink > 1) {
    throw new Error(
      `the file has ${stats.nlink} names (hard links), and SQLite keeps a log beside each; remove all names but one`,
    );
  }
  if (!isMountPoint(realpathSync(file))) return;
  throw new Error('the file is mounted by itself, without the log that SQLite keeps beside it; mount its directory');
}

/** Returns whether Linux reports a mount at this path. Other systems mount no files. */
function isMountPoint(path: string): boolean {
  let mounts: string;
  try {
    mounts = readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return false;
  }
  // The fifth field of each line, in which some characters are octal (proc_pid_mountinfo(5)).
  const escaped = path.replace(
    /[ \t\n\\]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return mounts.split('\n').some((line) => line.split(' ')[4] === escaped);
}
