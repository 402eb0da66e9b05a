import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { parseJson } from '../../orders/json.js';
import { SETTING_NAMES, SETTING_TEXTS, type SettingName, type Settings, settingsSchema } from './settings.js';

export interface SettingSources {
  /** By name without dashes; `true` for a flag without a value. */
  readonly flags: ReadonlyMap<string, string | true>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export type ReadSettings =
  | { readonly ok: true; readonly settings: Settings }
  /** One sentence that names the setting as it was written. */
  | { readonly ok: false; readonly mistake: string };

export const CONFIG_VARIABLE = 'STORE_ORDERS_CONFIG';

interface Found {
  readonly value: unknown;
  /** The lower one counts. */
  readonly rank: number;
  /** How the user calls it. */
  readonly label: string;
}

/** Reads the settings named in `names`; the others have their defaults. Never throws. */
export function readSettings(sources: SettingSources, names: readonly SettingName[] = SETTING_NAMES): ReadSettings {
  const file = readFile(sources);
  if (!file.ok) return file;
  const found = new Map<string, Found>();
  for (const name of names) {
    const one = fromFlag(name, sources) ?? fromVariable(name, sources) ?? file.find(name);
    if (one !== undefined) found.set(name, one);
  }
  // Both say where the data is: the one that is named in the place that ranks higher.
  const [named, url] = [found.get('db'), found.get('databaseUrl')];
  if (named !== undefined && url !== undefined) {
    if (named.rank === url.rank) {
      return mistake(`${named.label} and ${url.label}: both say where the data is; expected one of them`);
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
      `${url?.label}: servers on one PostgreSQL database count quotas in one place; name a Redis or Valkey server with --redis-url too`,
    );
  }
  if (workers > 1 && databaseUrl === undefined) {
    return mistake(
      `${found.get('workers')?.label}: one server at a time runs on a file; for more than one worker name a PostgreSQL database with --database-url, and a Redis or Valkey server with --redis-url`,
    );
  }
  return { ok: true, settings: result.output };
}

/** A URL may have a password in it, whatever setting it was meant for. */
function shown(name: string, value: unknown): string {
  const json = JSON.stringify(value);
  const isSecret = name === 'databaseUrl' || name === 'redisUrl' || json.includes('://');
  return isSecret ? '' : `, not ${json}`;
}

function mistake(sentence: string): { readonly ok: false; readonly mistake: string } {
  return { ok: false, mistake: sentence };
}

function fromFlag(name: SettingName, { flags }: SettingSources): Found | undefined {
  const { flag } = SETTING_TEXTS[name];
  const value = flags.get(flag);
  if (value === undefined) return undefined;
  // A flag without a value is a `no-` flag.
  return { value: value === true ? false : fromText(name, value), rank: 0, label: `--${flag}` };
}

/** An empty variable is an unset one: that is how scripts unset. */
function fromVariable(name: SettingName, { environment }: SettingSources): Found | undefined {
  const { variable } = SETTING_TEXTS[name];
  const value = environment[variable];
  return value === undefined || value === '' ? undefined : { value: fromText(name, value), rank: 1, label: variable };
}

/** Text as the type of its setting, as far as it is one; what is none is left for the schema to refuse. */
function fromText(name: SettingName, value: string): unknown {
  switch (name) {
    case 'port':
    case 'workers':
    case 'trustProxy':
    case 'maxConnectionsPerAddress':
    case 'addressPerMinute':
      return /^[0-9]{1,15}$/.test(value) ? Number(value) : value;
    case 'sample':
      return value === 'true' || value === 'false' ? value === 'true' : value;
    default:
      return value;
  }
}

type ReadFile =
  | { readonly ok: true; find(name: SettingName): Found | undefined }
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
    return mistake(`${label}: expected a JSON file${path.includes('://') ? '' : `, and ${path} cannot be read`}`);
  }
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch {
    return mistake(`${label}: expected ${path} to be JSON, but ${jsonMistake(json)}`);
  }
  const parsed = v.safeParse(v.record(v.string(), v.unknown()), content);
  if (!parsed.success || Array.isArray(content)) return mistake(`${label}: expected a JSON object in ${path}`);
  const values = new Map(Object.entries(parsed.output));
  const unknown = [...values.keys()].find((key) => !SETTING_NAMES.some((name) => name === key));
  if (unknown !== undefined) {
    return mistake(`${path}: ${JSON.stringify(unknown)} is no setting; expected one of ${SETTING_NAMES.join(', ')}`);
  }
  return {
    ok: true,
    find: (name) => (values.has(name) ? { value: values.get(name), rank: 2, label: `${path}: ${name}` } : undefined),
  };
}

/** Node's own message would quote the text around the mistake, a password perhaps. */
function jsonMistake(json: string): string {
  try {
    parseJson(json);
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
  }
  return 'it is none';
}
