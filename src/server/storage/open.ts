import type { Settings } from '../config/settings.js';
import { openPostgresStorage } from './postgres.js';
import { PLACE_SUFFIX, takeServerPlace } from './server-lock.js';
import { IN_MEMORY, openNamedDatabase, reasonOf } from './sqlite.js';
import type { OpenOutcome } from './storage.js';

export type DataSettings = Pick<Settings, 'db' | 'databaseUrl'>;

/** Opens the data of a command. `create`: makes it where there is none yet. */
export async function openData({ db, databaseUrl }: DataSettings, create: boolean): Promise<OpenOutcome> {
  if (databaseUrl !== undefined) return openPostgresStorage(databaseUrl, { create });
  return openNamedDatabase(db, { create });
}

/** Opens the data of a server: alone, where two would overwrite each other's quotas. */
export async function openServerData({ db, databaseUrl }: DataSettings): Promise<OpenOutcome> {
  if (databaseUrl !== undefined) return openPostgresStorage(databaseUrl, { create: true, impatient: true });
  const open = openNamedDatabase(db, { create: true, threaded: true });
  if (!open.ok || db === IN_MEMORY) return open;
  const { data } = open;
  let leave: (() => void) | undefined;
  let refusal = `another server runs on ${db}; stop it first, or name another file with --db`;
  try {
    leave = takeServerPlace(db);
  } catch (error) {
    refusal = `cannot open ${db}${PLACE_SUFFIX}: ${reasonOf(error)}`;
  }
  if (leave === undefined) {
    await data.close();
    return { ok: false, message: refusal };
  }
  return {
    ok: true,
    data: { ...data, close: () => data.close().finally(leave), discard: () => data.discard().finally(leave) },
  };
}
