import { closeSync, fsyncSync, lstatSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createPrivately } from '../../databases/sqlite/driver.js';
import { failureOf, isResult } from '../../databases/sqlite/failure.js';
import { type CommandResult, done, failed } from '../command-result.js';
import { randomBase62 } from '../keys/api-key.js';
import { checkContents, withUnmigratedFile } from './existing-file.js';

/** Copies a database to a new file, which gets its name only when it is complete and on disk. */
export function backUp(file: string, target: string): CommandResult {
  const isTaken = () => lstatSync(target, { throwIfNoEntry: false }) !== undefined;
  const taken = failed(`${target} already exists; name a new file, because a backup overwrites nothing`);
  if (isTaken()) return taken;
  return withCopy(file, target, (copy) => {
    if (isTaken()) return taken;
    const bytes = putInPlace(copy, target);
    return done(`backed up ${file} to ${target}, ${bytes} bytes`, { file, backup: target, bytes });
  });
}

/**
 * Copies a database to a file beside the target, checks the copy, and runs `work` on it. Removes
 * the copy afterwards. A killed process leaves it, under a name that ends with `.partial`.
 */
export function withCopy(file: string, target: string, work: (copy: string) => CommandResult): CommandResult {
  const copy = resolve(`${target}.${randomBase62(8)}.partial`);
  if (!createPrivately(copy)) {
    return failed(`cannot create ${target}; check that its directory exists and is writable`);
  }
  try {
    withUnmigratedFile(file, ({ database }) => {
      try {
        // Copies from one read transaction, which does not block writers.
        database.prepare('VACUUM INTO ?').run(copy);
      } catch (error) {
        throw isSourceFailure(error) ? error : failureOf(error, target, 'write');
      }
    });
    // What is wrong in the copy is wrong in the file, but only the copy's disk can fail here.
    withUnmigratedFile(copy, (opened) => checkContents(opened, file), target);
    // SQLite does not promise that VACUUM INTO syncs its file.
    fsyncFile(copy, 'r+');
    return work(copy);
  } catch (error) {
    throw failureOf(error, target, 'write');
  } finally {
    rmSync(copy, { force: true });
  }
}

/** Returns whether a copy has failed because of the file that is read. */
function isSourceFailure(error: unknown): boolean {
  return isResult(error, 'busy') || isResult(error, 'damaged') || isResult(error, 'not_a_database');
}

/** Renames the copy in one step that survives a power cut. Returns the size of the file in bytes. */
export function putInPlace(copy: string, target: string): number {
  renameSync(copy, target);
  // Windows cannot open a directory and does not need this.
  if (process.platform !== 'win32') fsyncFile(dirname(resolve(target)), 'r');
  return statSync(target).size;
}

function fsyncFile(file: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(file, flags);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
