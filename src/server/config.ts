import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { parseJson } from '../orders/json.js';
import { parseRedisUrl } from './redis-url.js';

/** How the program is set up. Each setting comes from its flag, else its variable, else the file, else its default. */
export interface Settings {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** How many processes serve. */
  readonly workers: number;
  /** A file, or `:memory:`. It does not count where there is a `databaseUrl`. */
  readonly db: string;
  /** The PostgreSQL database, where that is what counts. Not to be shown: it may have a password in it. */
  readonly databaseUrl?: string | undefined;
  /** Where quotas are counted by all servers together. Not to be shown either. */
  readonly redisUrl?: string | undefined;
  readonly basePath: string;
  /** How many trusted proxies stand before the server. */
  readonly trustProxy: number;
  /** Whether a new database gets sample orders and demo keys. */
  readonly sample: boolean;
  readonly addressPerMinute: number;
  /** `requests`: every request too. `events`: only what happens to the server, and failures. */
  readonly log: 'requests' | 'events';
}

export type SettingName = keyof Settings;

export interface SettingSources {
  /** By name without dashes; `true` for a flag without a value. */
  readonly flags: ReadonlyMap<string, string | true>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export type ReadSettings =
  | { readonly ok: true; readonly settings: Settings }
  /** One sentence that names the setting as it was written. */
  | { readonly ok: false; readonly mistake: string };

interface SettingText {
  readonly flag: string;
  /** What stands for the flag's value in a help text; a flag without it takes none. */
  readonly value?: string;
  readonly variable: string;
  readonly about: string;
}

/** In the order of the help text. */
export const SETTING_TEXTS: Readonly<Record<SettingName, SettingText>> = {
  host: { flag: 'host', value: 'HOST', variable: 'HOST', about: 'address to listen on (127.0.0.1)' },
  port: { flag: 'port', value: 'PORT', variable: 'PORT', about: 'port to listen on, 0 for any free one (8080)' },
  workers: {
    flag: 'workers',
    value: 'N',
    variable: 'STORE_ORDERS_WORKERS',
    about: 'processes that serve together, over PostgreSQL and Redis (1)',
  },
  db: { flag: 'db', value: 'FILE', variable: 'STORE_ORDERS_DB', about: 'database, or :memory: (store-orders.db)' },
  databaseUrl: {
    flag: 'database-url',
    value: 'URL',
    variable: 'DATABASE_URL',
    about: 'PostgreSQL database instead, postgres://user:password@host:5432/database',
  },
  redisUrl: {
    flag: 'redis-url',
    value: 'URL',
    variable: 'REDIS_URL',
    about: 'Redis or Valkey server in which quotas are counted, redis://host:6379',
  },
  basePath: { flag: 'base-path', value: 'PATH', variable: 'STORE_ORDERS_BASE_PATH', about: 'where paths begin (/v1)' },
  trustProxy: {
    flag: 'trust-proxy',
    value: 'N',
    variable: 'STORE_ORDERS_TRUST_PROXY',
    about: 'trusted proxies before the server (0)',
  },
  sample: {
    flag: 'no-sample',
    variable: 'STORE_ORDERS_SAMPLE',
    about: 'no sample orders, no demo keys in a new database',
  },
  addressPerMinute: {
    flag: 'address-per-minute',
    value: 'N',
    variable: 'STORE_ORDERS_ADDRESS_PER_MINUTE',
    about: 'requests without a valid key that an address may send (600)',
  },
  log: { flag: 'log', value: 'WHAT', variable: 'STORE_ORDERS_LOG', about: 'requests, or only events (requests)' },
};

export const CONFIG_VARIABLE = 'STORE_ORDERS_CONFIG';

function wholeNumber(min: number, max: number) {
  const expected = `expected a whole number from ${min} to ${max}`;
  return v.pipe(v.number(expected), v.integer(expected), v.minValue(min, expected), v.maxValue(max, expected));
}

function text(expected: string) {
  return v.pipe(v.string(expected), v.nonEmpty(expected));
}

const NO_FILE = 'expected the name of a file; a PostgreSQL database is named with --database-url';
const DATABASE_URL =
  'expected a URL such as postgres://user:password@host:5432/database, with @ / ? # in the password as %40 %2F %3F %23';
const REDIS_URL =
  'expected a URL such as redis://user:password@host:6379, with @ / ? # in the password as %40 %2F %3F %23; for a cluster several, a comma between';

/**
 * A password with such a character in it, as it is, would end early, and its rest be taken for a name that may be shown.
 * The user may stand before no host: then the host is a parameter, or the driver's default.
 */
function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\/[^/?#\s]*[^@#\s]*$/.test(url) && URL.canParse(url.replace('@/', '@host/'));
}

const PATH = 'expected a path such as /v1, without a slash at its end';
const LOG = 'expected requests or events';

const settingsSchema = v.object({
  host: v.optional(text('expected a host name or an address'), '127.0.0.1'),
  port: v.optional(wholeNumber(0, 65_535), 8080),
  workers: v.optional(wholeNumber(1, 1_024), 1),
  db: v.optional(
    v.pipe(
      text('expected the name of a file, or :memory:'),
      v.check((name) => !/^\w+:\/\//.test(name), NO_FILE),
    ),
    'store-orders.db',
  ),
  databaseUrl: v.optional(v.pipe(v.string(DATABASE_URL), v.check(isPostgresUrl, DATABASE_URL))),
  redisUrl: v.optional(
    v.pipe(
      v.string(REDIS_URL),
      v.check((url) => parseRedisUrl(url) !== undefined, REDIS_URL),
    ),
  ),
  basePath: v.optional(v.pipe(v.string(PATH), v.regex(/^(?:\/[A-Za-z0-9._~-]+)*$/, PATH)), '/v1'),
  trustProxy: v.optional(wholeNumber(0, 100), 0),
  sample: v.optional(v.boolean('expected true or false'), true),
  addressPerMinute: v.optional(wholeNumber(1, 1_000_000_000), 600),
  log: v.optional(v.picklist(['requests', 'events'], LOG), 'requests'),
});

export const SETTING_NAMES: readonly SettingName[] = [
  'host',
  'port',
  'workers',
  'db',
  'databaseUrl',
  'redisUrl',
  'basePath',
  'trustProxy',
  'sample',
  'addressPerMinute',
  'log',
];

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
    return mistake(`${label}: expected a JSON file, and ${path} cannot be read`);
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
