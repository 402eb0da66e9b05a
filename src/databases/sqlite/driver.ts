import { closeSync, existsSync, fchownSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../message-of.js';
import type { SqliteDatabase } from './database.js';
import { cannotOpen } from './failure.js';

/**
 * Opens a SQLite file with node:sqlite (Node ≥ 22.13), otherwise with an installed libsql. If
 * neither is available, throws an error that says what to install. Creates the file if it is
 * missing. A new file, and the files that SQLite puts beside it, are readable only by their owner.
 * The caller closes the handle.
 */
export function openSqliteDatabase(file: string): SqliteDatabase {
  if (typeof file !== 'string') throw new TypeError('file: expected the name of a file');
  const Database = loadDriver();
  // Rejects a link to a missing file, which SQLite would create, readable by everyone.
  if (file !== ':memory:' && !createPrivately(file) && !existsSync(file)) throw cannotOpen(undefined, file);
  try {
    // SQLite takes a name that begins with `file:` for a URL, and would open a file of another name.
    return new Database(file.startsWith('file:') ? `./${file}` : file);
  } catch (error) {
    throw cannotOpen(error, file);
  }
}

/** Opens a file for as long as `work` runs. */
export function withDatabase<T>(file: string, work: (database: SqliteDatabase) => T): T {
  const database = openSqliteDatabase(file);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Returns the class of a handle of node:sqlite, otherwise of an installed libsql. */
export function loadDriver(): new (file: string) => SqliteDatabase {
  const builtIn = process.getBuiltinModule('node:sqlite');
  if (builtIn !== undefined) return builtIn.DatabaseSync;
  try {
    // Bundlers follow an imported `createRequire` to the binary. In their CommonJS, modules have no URL.
    const { createRequire } = process.getBuiltinModule('node:module');
    return createRequire(import.meta.url ?? `${process.cwd()}/`)('libsql');
  } catch (error) {
    const [reason] = messageOf(error).split('\n');
    throw new Error(
      `no SQLite driver can be loaded (${reason}); run "npm install libsql", or use Node 22.13 or newer, which has one built in`,
      { cause: error },
    );
  }
}

/**
 * Creates an empty file that only its owner can read, unless the file exists. Returns whether it
 * was created. SQLite gives its log the same mode and owner as the file. If two processes create
 * the file at the same time, only one gets `true`.
 */
export function createPrivately(file: string): boolean {
  try {
    // The flag `x` avoids opening an existing file. Closing a descriptor of an open database would
    // drop all locks that this process holds on it.
    const descriptor = openSync(file, 'ax', 0o600);
    if (process.geteuid?.() === 0) giveToOwnerOf(dirname(file), descriptor);
    closeSync(descriptor);
    return true;
  } catch {
    return false;
  }
}

/** Keeps a file that root creates from being closed to the user of the service. */
function giveToOwnerOf(directory: string, descriptor: number): void {
  try {
    const { uid, gid } = statSync(directory);
    fchownSync(descriptor, uid, gid);
  } catch {
    // In a container, root may lack this right.
  }
}
