import { closeSync, fsyncSync, openSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { isDamaged } from '../orders/sqlite-database.js';
import type { BackupData } from './backup.js';
import { openAsItIs, reasonOf } from './database.js';
import { damage, problemsOf } from './soundness.js';

// The copying itself, on a thread because it is one long call: backup.ts can hear a signal meanwhile.

const { file, copy }: BackupData = workerData;

const { database } = openAsItIs(file);
try {
  // One read transaction, which holds up no writer. What it writes, SQLite does not sync.
  database.prepare('VACUUM INTO ?').run(copy);
} catch (error) {
  throw isDamaged(error) ? error : new Error(`no copy could be written: ${reasonOf(error)}`, { cause: error });
} finally {
  database.close();
}

// Not even the page cache is trusted: a copy that cannot be read is none.
const { database: copied } = openAsItIs(copy);
const problems = problemsOf(copied);
copied.close();
if (problems.length > 0) throw new Error(damage(problems));

const descriptor = openSync(copy, 'r+');
fsyncSync(descriptor);
closeSync(descriptor);
