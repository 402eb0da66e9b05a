import { closeSync, fsyncSync, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { SqliteFileError } from '../../databases/sqlite/failure.js';
import type { BackupData } from './backup.js';
import { damage, problemsOf } from './integrity.js';
import { openAsItIs, reasonOf, troubleOf } from './sqlite.js';

// The copying itself, on a thread because it is one long call: backup.ts can hear a signal meanwhile.

const { file, copy }: BackupData = workerData;
try {
  write();
  check();
} catch (error) {
  // An error of a class that a driver brought would arrive without its message.
  throw new Error(troubleOf(error, file, 'read') ?? `${file}: ${reasonOf(error)}`);
}

/** From one read transaction, which holds up no writer. */
function write(): void {
  const { database } = openAsItIs(file);
  try {
    database.prepare('VACUUM INTO ?').run(copy);
  } finally {
    database.close();
  }
  // SQLite does not sync what it writes so.
  const descriptor = openSync(copy, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** A copy that cannot be read is none. */
function check(): void {
  const { database } = openAsItIs(copy);
  const problems = problemsOf(database);
  database.close();
  if (problems.length > 0) throw new SqliteFileError(damage(file, problems), 'damaged');
}
