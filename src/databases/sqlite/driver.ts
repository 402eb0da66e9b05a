import { createRequire } from 'node:module';
import type { SqliteDatabase } from './database.js';

const require = createRequire(import.meta.url);

/** Each answers a way to open a file, or throws when its driver is not there. */
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
    // Version 13 loads on Node 20 and then crashes the process.
    const [nodeMajor = 0] = process.versions.node.split('.').map(Number);
    if (nodeMajor < 22 && Number.parseInt(require('better-sqlite3/package.json').version, 10) >= 13) throw new Error();
    const Database = require('better-sqlite3');
    return (file) => new Database(file);
  },
];

/**
 * Opens a SQLite file (created if absent) with the first driver there is: node:sqlite (Node ≥ 22.13), then an installed
 * libsql, then an installed better-sqlite3. Throws with what to install when there is none. The caller closes it.
 */
export function openSqliteDatabase(file: string): SqliteDatabase {
  for (const driver of DRIVERS) {
    let open: (file: string) => SqliteDatabase;
    try {
      open = driver();
    } catch {
      continue;
    }
    return open(file);
  }
  throw new Error(
    'no SQLite driver found; run "npm install libsql", or use Node 22.13 or newer, which has one built in',
  );
}
