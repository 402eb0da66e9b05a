import { rmSync } from 'node:fs';
import { prepare } from '../../databases/sqlite/database.js';
import { createPrivately } from '../../databases/sqlite/driver.js';
import { type UnmigratedFile, withUnmigratedFile } from './existing-file.js';
import { lockForServer } from './server-lock.js';
import type { CreatedStorage } from './storage.js';

/** Creates an empty file. Returns `undefined` if the file exists, or cannot be created. */
export function createFile(file: string): CreatedStorage | undefined {
  return createPrivately(file) ? { remove: () => removeUnused(file) } : undefined;
}

function removeUnused(file: string): void {
  const unlock = lockForServer(file);
  if (unlock === undefined) return;
  try {
    if (!withUnmigratedFile(file, isEmpty)) return;
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  } catch {
    // It is unknown what is in the file, so it stays.
  } finally {
    unlock();
  }
}

function isEmpty({ database, versions }: UnmigratedFile): boolean {
  const select = 'SELECT 1 FROM orders UNION ALL SELECT 1 FROM keys LIMIT 1';
  return versions.get('orders') === 0 || prepare(database, select).get() === undefined;
}
