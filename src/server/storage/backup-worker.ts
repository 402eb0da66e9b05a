import { closeSync, fsyncSync, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { SqliteFileError } from '../../databases/sqlite/failure.js';
import type { BackupData } from './backup.js';
import { damage, problemsOf } from './integrity.js';
import { openAsItIs, reasonOf, troubleOf } from './sqlite.js';

// Copies on a thread of its own, because the copy is one long call, and backup.ts must react to
// signals meanwhile.

const { file, copy }: BackupData = workerData;
try {
  write();
  check();
} catch (error) {
  // An error of a driver's own class would lose its message between threads.
  throw new Error(troubleOf(error, file, 'read') ?? `${file}: ${reasonOf(error)}`);
}

/** Copies from one read transaction, which does not block writers. */
function write(): void {
  const { database } = openAsItIs(file);
  try {
    database.prepare('VACUUM INTO ?').run(copy);
  } finally {
    database.close();
  }
  // VACUUM INTO does not sync its file.
  const descriptor = openSync(copy, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** Throws if the copy is damaged. */
function check(): void {
  const { database } = openAsItIs(copy);
  const problems = problemsOf(database);
  database.close();
  if (problems.length > 0) throw new SqliteFileError(damage(file, problems), 'damaged');
}
