import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { JsonSyntaxError, parseJson } from '../../orders/exact-json.js';
import { Misuse } from '../command-result.js';
import { nearest } from './nearest.js';
import { isSettingName, SETTING_NAMES, type SettingName, settingsSchema } from './settings.js';

export interface SettingSources {
  /** The command-line options, by name without dashes. An option without a value is `true`. */
  readonly flags: ReadonlyMap<string, string | true>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The flag, variable or file entry that sets a setting. */
interface SettingSource {
  /** The value as given, before it is parsed. */
  readonly value: unknown;
  /** The name of the setting as the user wrote it, such as `--port` or `PORT`. */
  readonly label: string;
}

export const CONFIG_VARIABLE = 'STORE_ORDERS_CONFIG';
/** The variable with the number of a worker process. Its replacement gets the same number. */
export const WORKER_VARIABLE = 'STORE_ORDERS_WORKER';

/**
 * Reads the settings in `names`. All other settings get their defaults. Throws a {@link Misuse} with
 * one sentence that names the setting as the user wrote it.
 */
export function readSettings(given: SettingSources, names: readonly SettingName[] = SETTING_NAMES) {
  checkVariables(given.environment);
  const sources = findSettings(given, names);
  const labelOf = (name: string) => sources.get(name)?.label;
  const values = Object.fromEntries(Array.from(sources, ([name, { value }]) => [name, value]));
  const result = v.safeParse(settingsSchema, values);
  if (!result.success) {
    const [{ message, path }] = result.issues;
    const name = String(path?.[0]?.key);
    throw new Misuse(`${labelOf(name)}: ${message}${shownValue(name, values[name])}`);
  }
  const { databaseUrl, redisUrl, workers } = result.output;
  if (databaseUrl !== undefined && redisUrl === undefined && names.includes('redisUrl')) {
    throw new Misuse(
      `${labelOf('databaseUrl')}: with PostgreSQL, quotas are counted in Redis or Valkey; name its server with --redis-url`,
    );
  }
  if (workers > 1 && databaseUrl === undefined) {
    throw new Misuse(
      `${labelOf('workers')}: more than one worker needs PostgreSQL and Redis; name them with --database-url and --redis-url`,
    );
  }
  return { settings: result.output, sources };
}

const PREFIX = 'STORE_ORDERS_';
/** For a service store-orders-metrics, Kubernetes sets `STORE_ORDERS_METRICS_PORT` to such an address. */
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):/;

/**
 * Refuses a variable whose name is almost that of a setting, or is that of a setting without the
 * prefix, such as `STORE_ORDERS_DATABASE_URL`. Other names with the prefix are not refused, nor is an
 * address of a service: for one with the name store-orders, Kubernetes sets `STORE_ORDERS_PORT`,
 * `STORE_ORDERS_PORT_8080_TCP` and the like.
 */
function checkVariables(environment: SettingSources['environment']): void {
  const known = [...SETTING_NAMES.map((name) => settingsSchema.entries[name].env), CONFIG_VARIABLE, WORKER_VARIABLE];
  for (const [name, value = ''] of Object.entries(environment)) {
    if (!name.startsWith(PREFIX) || known.includes(name) || SERVICE_ADDRESS.test(value)) continue;
    const meant = known.find((setting) => name === PREFIX + setting) ?? nearest(name, known);
    if (meant !== undefined) throw new Misuse(`unknown environment variable ${name}; did you mean ${meant}?`);
  }
}

/** Shows a value at the end of a message. Omits a URL, because it may contain a password. */
function shownValue(name: string, value: unknown): string {
  const json = JSON.stringify(value);
  const isSecret = name === 'databaseUrl' || name === 'redisUrl' || json.includes('://');
  return isSecret ? '' : `, not ${json}`;
}

/** Returns where each setting comes from. A setting that has its default value is absent. */
function findSettings(given: SettingSources, names: readonly SettingName[]): ReadonlyMap<string, SettingSource> {
  const found = new Map<string, SettingSource>();
  for (const find of [fromFlag, fromVariable, readFile(given)]) {
    // `db` and `databaseUrl` both name the storage, so either one overrides both in later sources.
    const hasStorage = found.has('db') || found.has('databaseUrl');
    for (const name of names) {
      const isOverridden = found.has(name) || (hasStorage && (name === 'db' || name === 'databaseUrl'));
      const source = isOverridden ? undefined : find(name, given);
      if (source !== undefined) found.set(name, source);
    }
    const [file, url] = [found.get('db'), found.get('databaseUrl')];
    if (file !== undefined && url !== undefined) {
      throw new Misuse(`${file.label} and ${url.label} both name a database; use one of them`);
    }
  }
  return found;
}

function fromFlag(name: SettingName, { flags }: SettingSources): SettingSource | undefined {
  const { flag } = settingsSchema.entries[name];
  const value = flags.get(flag);
  // A flag that takes no value has a name such as `--no-sample`, so it means `false`.
  return value === undefined ? undefined : { value: value === true ? false : value, label: `--${flag}` };
}

const QUOTED = 'begins with a quote; write the value without quotes, which "docker run --env-file" keeps';

/** An empty variable counts as unset, because scripts unset variables that way. */
function fromVariable(name: SettingName, { environment }: SettingSources): SettingSource | undefined {
  const { env } = settingsSchema.entries[name];
  const value = environment[env];
  if (value === undefined || value === '' || (env.endsWith('_PORT') && SERVICE_ADDRESS.test(value))) return undefined;
  if (/^["']/.test(value)) throw new Misuse(`${env}: ${QUOTED}`);
  return { value, label: env };
}

function readFile({ flags, environment }: SettingSources): (name: SettingName) => SettingSource | undefined {
  const [path, label] = flags.has('config')
    ? [flags.get('config'), '--config']
    : [environment[CONFIG_VARIABLE], CONFIG_VARIABLE];
  if (typeof path !== 'string' || path === '') return () => undefined;
  const values = parseFile(path, label);
  const unknown = [...values.keys()].find((key) => !isSettingName(key));
  if (unknown !== undefined) {
    const meant = nearest(unknown, SETTING_NAMES);
    const advice = meant === undefined ? `expected one of ${SETTING_NAMES.join(', ')}` : `did you mean "${meant}"?`;
    throw new Misuse(`${path}: unknown setting ${JSON.stringify(unknown)}; ${advice}`);
  }
  return (name) => (values.has(name) ? { value: values.get(name), label: `${path}: ${name}` } : undefined);
}

function parseFile(path: string, label: string): ReadonlyMap<string, unknown> {
  let content: unknown;
  try {
    // Notepad and PowerShell begin a file with a byte order mark.
    const json = readFileSync(path, 'utf8').replace(/^\ufeff/, '');
    // The errors of `parseJson` name the position. Those of `JSON.parse` quote the text, which may
    // contain a password.
    parseJson(json);
    content = JSON.parse(json);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) {
      // A URL in place of a path may contain a password.
      throw new Misuse(`${label}: cannot read ${path.includes('://') ? 'the file' : path}; name a JSON file`);
    }
    const { line, column, reason } = error;
    throw new Misuse(`${label}: invalid JSON in ${path}, line ${line} column ${column}: ${reason}`);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new Misuse(`${label}: expected a JSON object in ${path}`);
  }
  return new Map(Object.entries(content));
}
