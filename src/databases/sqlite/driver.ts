import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { SqliteDatabase } from './database.js';
import { cannotOpen } from './failure.js';

const require = createRequire(import.meta.url);

/**
 * Each function loads one driver and returns a function that opens a file. It throws if the driver
 * is not installed.
 */
const DRIVERS: readonly (() => (file: string) => SqliteDatabase)[] = [
  () => {
    const { DatabaseSync } = require('node:sqlite');
    return (file) => new DatabaseSync(file);
  },
  () => {
    const Database = require('libsql');
    return (file) => new Database(file);
  },
  () => {
    // Version 13 of better-sqlite3 can be loaded on Node 20, but then crashes the process.
    const [nodeMajor = 0] = process.versions.node.split('.').map(Number);
    if (nodeMajor < 22 && Number.parseInt(require('better-sqlite3/package.json').version, 10) >= 13) throw new Error();
    const Database = require('better-sqlite3');
    return (file) => new Database(file);
  },
];

/**
 * Opens a SQLite file with the first driver available: node:sqlite (Node ≥ 22.13), then an
 * installed libsql, then an installed better-sqlite3. If none is available, throws an error that
 * says what to install. Creates the file if it is missing. A new file, and the files that SQLite
 * puts beside it, are readable only by their owner. The caller closes the handle.
 */
export function openSqliteDatabase(file: string): SqliteDatabase {
  checkFileName(file);
  for (const driver of DRIVERS) {
    let open: (file: string) => SqliteDatabase;
    try {
      open = driver();
    } catch {
      continue;
    }
    if (file !== '' && !file.startsWith(':')) createPrivately(file);
    try {
      return open(file);
    } catch (error) {
      throw cannotOpen(error, file);
    }
  }
  throw new Error(
    'no SQLite driver found; run "npm install libsql", or use Node 22.13 or newer, which has one built in',
  );
}

/** Throws a TypeError unless `file` is a string. */
export function checkFileName(file: string): void {
  if (typeof file !== 'string') throw new TypeError('file: expected the name of a file');
}

/**
 * Creates an empty file that only its owner can read, unless the file exists. Returns whether it
 * was created. SQLite gives its log the same mode as the file. If two processes create the file at
 * the same time, only one gets `true`.
 */
export function createPrivately(file: string): boolean {
  try {
    // The flag `x` avoids opening an existing file. Closing a descriptor of an open database would
    // drop all locks that this process holds on it.
    closeSync(openSync(file, 'ax', 0o600));
    return true;
  } catch {
    return false;
  }
}
