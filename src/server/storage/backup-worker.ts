import { closeSync, fsyncSync, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { SqliteFileError } from '../../databases/sqlite/failure.js';
import type { BackupData } from './backup.js';
import { damage, problemsOf } from './integrity.js';
import { openAsItIs, reasonOf, troubleOf } from './sqlite.js';

// Copying is one long call. It runs on a thread, so that backup.ts can react to a signal meanwhile.

const { file, copy }: BackupData = workerData;
try {
  write();
  check();
} catch (error) {
  // An error of a driver's class would arrive without its message.
  throw new Error(troubleOf(error, file, 'read') ?? `${file}: ${reasonOf(error)}`);
}

/** Copies in one read transaction, which blocks no writer. */
function write(): void {
  const { database } = openAsItIs(file);
  try {
    database.prepare('VACUUM INTO ?').run(copy);
  } finally {
    database.close();
  }
  // SQLite does not sync a file that it writes this way.
  const descriptor = openSync(copy, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** Checks that the copy can be read. */
function check(): void {
  const { database } = openAsItIs(copy);
  const problems = problemsOf(database);
  database.close();
  if (problems.length > 0) throw new SqliteFileError(damage(file, problems), 'damaged');
}
