import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { JsonSyntaxError, parseJson } from '../../orders/json.js';
import {
  isSettingName,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  settingsSchema,
  settingText,
} from './settings.js';

export interface SettingSources {
  /**
   * The options of the command line, by name without dashes. An option that takes no value is
   * `true`.
   */
  readonly flags: ReadonlyMap<string, string | true>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export type ReadSettings =
  | {
      readonly ok: true;
      readonly settings: Settings;
      /** Where each setting comes from. A setting that has its default value is absent. */
      readonly sources: ReadonlyMap<string, SettingSource>;
    }
  /** `mistake` is one sentence that names the setting as the user wrote it. */
  | { readonly ok: false; readonly mistake: string };

export const CONFIG_VARIABLE = 'STORE_ORDERS_CONFIG';

/** The flag, variable or file entry that sets a setting. */
interface SettingSource {
  /** The value as given, before it is parsed. */
  readonly value: unknown;
  /**
   * The rank of the source: 0 for the command line, 1 for the environment, 2 for the file. The
   * source with the lowest rank wins.
   */
  readonly rank: number;
  /** The name of the setting as the user wrote it, such as `--port` or `PORT`. */
  readonly label: string;
}

/** Reads the settings in `names`. All other settings get their defaults. Never throws. */
export function readSettings(sources: SettingSources, names: readonly SettingName[] = SETTING_NAMES): ReadSettings {
  const file = readFile(sources);
  if (!file.ok) return file;
  const found = new Map<string, SettingSource>();
  for (const name of names) {
    const one = fromFlag(name, sources) ?? fromVariable(name, sources) ?? file.find(name);
    if (one !== undefined) found.set(name, one);
  }
  // `db` and `databaseUrl` both name the storage. If they come from different sources, the command
  // line has precedence over the environment, and the environment over the file.
  const [named, url] = [found.get('db'), found.get('databaseUrl')];
  if (named !== undefined && url !== undefined) {
    if (named.rank === url.rank) {
      return mistake(`${inSentence(named)} and ${inSentence(url)} both name a database; use one of them`);
    }
    found.delete(named.rank < url.rank ? 'databaseUrl' : 'db');
  }
  const values = Object.fromEntries(Array.from(found, ([name, { value }]) => [name, value]));
  const result = v.safeParse(settingsSchema, values, { abortEarly: true });
  if (!result.success) {
    const [{ message, path }] = result.issues;
    const name = String(path?.[0]?.key);
    return mistake(`${found.get(name)?.label}: ${message}${shown(name, values[name])}`);
  }
  const { databaseUrl, redisUrl, workers } = result.output;
  if (databaseUrl !== undefined && redisUrl === undefined && names.includes('redisUrl')) {
    return mistake(
      `${url?.label}: with PostgreSQL, quotas are counted in Redis or Valkey; name its server with --redis-url`,
    );
  }
  if (workers > 1 && databaseUrl === undefined) {
    return mistake(
      `${found.get('workers')?.label}: more than one worker needs PostgreSQL and Redis; name them with --database-url and --redis-url`,
    );
  }
  return { ok: true, settings: result.output, sources: found };
}

/**
 * Returns the text at the end of a message that shows the value of a setting. Returns an empty
 * string for a value that could be a URL, because a URL may contain a password.
 */
function shown(name: string, value: unknown): string {
  const json = JSON.stringify(value);
  const isSecret = name === 'databaseUrl' || name === 'redisUrl' || json.includes('://');
  return isSecret ? '' : `, not ${json}`;
}

/** Returns the label of a setting as part of a sentence, such as `db in settings.json`. */
function inSentence({ label }: SettingSource): string {
  return label.replace(/^(.+): (\w+)$/, '$2 in $1');
}

function mistake(sentence: string): { readonly ok: false; readonly mistake: string } {
  return { ok: false, mistake: sentence };
}

function fromFlag(name: SettingName, { flags }: SettingSources): SettingSource | undefined {
  const { flag, parse = asText } = settingText(name);
  const value = flags.get(flag);
  if (value === undefined) return undefined;
  // A flag that takes no value has a name such as `--no-sample`, so it means `false`.
  return { value: value === true ? false : parse(value), rank: 0, label: `--${flag}` };
}

/** An empty variable counts as unset, because scripts unset variables that way. */
function fromVariable(name: SettingName, { environment }: SettingSources): SettingSource | undefined {
  const { env, parse = asText } = settingText(name);
  const value = environment[env];
  if (value === undefined || value === '' || isCondaHost(name, value, environment)) return undefined;
  return { value: parse(value), rank: 1, label: env };
}

function asText(value: string): string {
  return value;
}

/**
 * Recognises a HOST variable that was set by conda. Its compilers use that name for their target
 * platform, such as x86_64-conda-linux-gnu.
 */
function isCondaHost(name: SettingName, value: string, environment: SettingSources['environment']): boolean {
  return name === 'host' && (/-conda[_-]/.test(value) || value === environment['CONDA_TOOLCHAIN_HOST']);
}

type ReadFile =
  | { readonly ok: true; find(name: SettingName): SettingSource | undefined }
  | { readonly ok: false; readonly mistake: string };

function readFile({ flags, environment }: SettingSources): ReadFile {
  const [path, label] = flags.has('config')
    ? [flags.get('config'), '--config']
    : [environment[CONFIG_VARIABLE], CONFIG_VARIABLE];
  if (typeof path !== 'string' || path === '') return { ok: true, find: () => undefined };
  let json: string;
  try {
    json = readFileSync(path, 'utf8');
  } catch {
    return mistake(`${label}: cannot read ${path.includes('://') ? 'the file' : path}; name a JSON file`);
  }
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch {
    return mistake(`${label}: invalid JSON in ${path}${jsonMistake(json)}`);
  }
  const parsed = v.safeParse(v.record(v.string(), v.unknown()), content);
  if (!parsed.success || Array.isArray(content)) return mistake(`${label}: expected a JSON object in ${path}`);
  const values = new Map(Object.entries(parsed.output));
  const unknown = [...values.keys()].find((key) => !isSettingName(key));
  if (unknown !== undefined) {
    const expected = `expected one of ${SETTING_NAMES.join(', ')}`;
    return mistake(`${path}: unknown setting ${JSON.stringify(unknown)}; ${expected}`);
  }
  return {
    ok: true,
    find: (name) => (values.has(name) ? { value: values.get(name), rank: 2, label: `${path}: ${name}` } : undefined),
  };
}

/**
 * Describes the mistake in invalid JSON, with its place. The message of Node.js itself would quote
 * the text around the mistake, which may contain a password.
 */
function jsonMistake(json: string): string {
  try {
    parseJson(json);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return `, line ${error.line} column ${error.column}: ${error.reason}`;
  }
  return '';
}
