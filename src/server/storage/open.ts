import { realpathSync } from 'node:fs';
import { failureOf } from '../../databases/sqlite/failure.js';
import type { Settings } from '../config/settings.js';
import type { PostgresStorageOptions } from './postgres.js';
import { LOCK_SUFFIX, lockForServer } from './server-lock.js';
import { IN_MEMORY, openServerSqliteStorage, openSqliteStorage } from './sqlite.js';
import type { OpenOutcome, ServerStorage } from './storage.js';

export type StorageSettings = Pick<Settings, 'db' | 'databaseUrl'>;

/** Opens the storage for a command. With `create`, creates a missing storage. */
export async function openStorage({ db, databaseUrl }: StorageSettings, create: boolean): Promise<OpenOutcome> {
  if (databaseUrl !== undefined) return openPostgres(databaseUrl, { create });
  return openSqliteStorage(db, { create });
}

/** Opens the storage for a server. Locks a SQLite file, so that no second server opens it. */
export async function openServerStorage({ db, databaseUrl }: StorageSettings): Promise<OpenOutcome<ServerStorage>> {
  if (databaseUrl !== undefined) return openPostgres(databaseUrl, { create: true, limitsStatementTime: true });
  const open = openServerSqliteStorage(db);
  if (!open.ok || db === IN_MEMORY) return open;
  const { data } = open;
  let unlock: (() => void) | undefined;
  let refusal = `another server runs on ${db}; stop it first, or name another file with --db`;
  try {
    // Resolves symbolic links, so that all names of a file share one lock.
    unlock = lockForServer(realpathSync(db));
  } catch (error) {
    refusal = failureOf(error, db + LOCK_SUFFIX, 'open').message;
  }
  if (unlock === undefined) {
    await data.close();
    return { ok: false, message: refusal };
  }
  return {
    ok: true,
    // If the storage cannot be closed because the disk does not respond, the lock is released when
    // the process ends.
    data: { ...data, close: () => data.close().then(unlock), discard: () => data.discard().then(unlock) },
  };
}

/** Loads the modules that only PostgreSQL needs. */
async function openPostgres(url: string, options: PostgresStorageOptions): Promise<OpenOutcome> {
  const { openPostgresStorage } = await import('./postgres.js');
  return openPostgresStorage(url, options);
}
