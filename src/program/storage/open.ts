import type { Settings } from '../settings/settings.js';
import type { PostgresStorageOptions } from './postgres.js';
import { openServerSqliteStorage, openSqliteStorage } from './sqlite.js';
import type { OpenAttempt, ServerStorage } from './storage.js';

export type StorageSettings = Pick<Settings, 'db' | 'databaseUrl'>;

/** Opens the storage for a command. With `create`, creates a missing storage. */
export async function openStorage({ db, databaseUrl }: StorageSettings, create: boolean): Promise<OpenAttempt> {
  if (databaseUrl !== undefined) return openPostgres(databaseUrl, { create });
  return openSqliteStorage(db, { create });
}

/** Opens the storage for a server. Locks a SQLite file, so that no second server opens it. */
export async function openServerStorage({ db, databaseUrl }: StorageSettings): Promise<OpenAttempt<ServerStorage>> {
  if (databaseUrl !== undefined) return openPostgres(databaseUrl, { isServer: true });
  return openServerSqliteStorage(db);
}

/** Loads the modules that only PostgreSQL needs. */
async function openPostgres(url: string, options: PostgresStorageOptions): Promise<OpenAttempt> {
  const { openPostgresStorage } = await import('./postgres.js');
  return openPostgresStorage(url, options);
}
