import { realpathSync } from 'node:fs';
import type { Settings } from '../config/settings.js';
import { openPostgresStorage } from './postgres.js';
import { PLACE_SUFFIX, takeServerPlace } from './server-lock.js';
import { IN_MEMORY, openNamedSqliteStorage, reasonOf, troubleOf } from './sqlite.js';
import type { OpenOutcome } from './storage.js';

export type StorageSettings = Pick<Settings, 'db' | 'databaseUrl'>;

/** Opens the data of a command. `create`: creates it where there is none yet. */
export async function openStorage(
  { db, databaseUrl }: StorageSettings,
  create: boolean,
  threaded: boolean,
): Promise<OpenOutcome> {
  if (databaseUrl !== undefined) return openPostgresStorage(databaseUrl, { create });
  return openNamedSqliteStorage(db, { create, threaded });
}

/** Opens the data of a server: alone, where two would overwrite each other's quotas. */
export async function openServerStorage({ db, databaseUrl }: StorageSettings): Promise<OpenOutcome> {
  if (databaseUrl !== undefined) return openPostgresStorage(databaseUrl, { create: true, impatient: true });
  const open = openNamedSqliteStorage(db, { create: true, threaded: true });
  if (!open.ok || db === IN_MEMORY) return open;
  const { data } = open;
  let leave: (() => void) | undefined;
  let refusal = `another server runs on ${db}; stop it first, or name another file with --db`;
  try {
    // A link is another name, and the same file.
    leave = takeServerPlace(realpathSync(db));
  } catch (error) {
    refusal = troubleOf(error, db + PLACE_SUFFIX, 'open') ?? `cannot open ${db}${PLACE_SUFFIX}: ${reasonOf(error)}`;
  }
  if (leave === undefined) {
    await data.close();
    return { ok: false, message: refusal };
  }
  return {
    ok: true,
    // The place of a server whose disk does not answer is free when its process has ended.
    data: { ...data, close: () => data.close().then(leave), discard: () => data.discard().then(leave) },
  };
}
