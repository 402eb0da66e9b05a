import { failureOf } from '../../databases/sqlite/failure.js';
import { type CommandResult, failed, Misuse } from '../command-result.js';
import { readSettings } from '../settings/read-settings.js';
import type { SettingName, Settings } from '../settings/settings.js';
import { openStorage } from '../storage/open.js';
import { IN_MEMORY } from '../storage/sqlite.js';
import type { Storage } from '../storage/storage.js';
import { type Invocation, settingOptions } from './command.js';

/** The options that name the storage of orders and keys. */
export const STORAGE_OPTIONS = settingOptions(['db', 'databaseUrl']);

export interface WithStorageOptions {
  /** Creates the database if it does not exist, and removes it again if `work` fails. */
  readonly create?: boolean;
  /** The settings that `work` needs in addition to those of the storage. */
  readonly settings?: readonly SettingName[];
}

/**
 * Opens the storage that the invocation names, runs `work` on it, and closes it. An error of `work`
 * becomes a failed result.
 */
export async function withStorage(
  invocation: Invocation,
  work: (storage: Storage, settings: Settings) => CommandResult | Promise<CommandResult>,
  { create = false, settings: names = [] }: WithStorageOptions = {},
): Promise<CommandResult> {
  const settings = readStorageSettings(invocation, names);
  const opened = await openStorage(settings, create);
  if (!opened.ok) return failed(opened.message);
  const { storage, created } = opened;
  const result = await Promise.resolve()
    .then(() => work(storage, settings))
    .catch((error) => failed(failureOf(error, storage.name, 'use').message));
  await storage.close();
  if (result.exitCode !== 0) created?.remove();
  return result;
}

/** Reads the settings that name the storage, and others. Throws if the storage is in memory. */
export function readStorageSettings(invocation: Invocation, names: readonly SettingName[] = []): Settings {
  const { settings } = readSettings(invocation, ['db', 'databaseUrl', ...names]);
  if (settings.databaseUrl !== undefined || settings.db !== IN_MEMORY) return settings;
  throw new Misuse('a database in memory would be lost when this command ends; name a file with --db');
}
