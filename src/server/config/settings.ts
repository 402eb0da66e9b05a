import * as v from 'valibot';
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
  /** 0: as many as come. */
  readonly maxConnectionsPerAddress: number;
  /** Whether a new database gets sample orders and demo keys. */
  readonly sample: boolean;
  readonly addressPerMinute: number;
  /** `requests`: every request too. `events`: only what happens to the server, and failures. */
  readonly log: 'requests' | 'events';
}

export type SettingName = keyof Settings;

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
  maxConnectionsPerAddress: {
    flag: 'max-connections-per-address',
    value: 'N',
    variable: 'STORE_ORDERS_MAX_CONNECTIONS_PER_ADDRESS',
    about: 'connections of one address at once, 0 for no limit; not behind proxies (256)',
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

const HOST = 'expected a host name or an address';
const PATH = 'expected a path such as /v1, without a slash at its end';
const DOT_SEGMENT = 'expected a path without . and .. segments, which clients resolve before they send it';
const LOG = 'expected requests or events';

export const settingsSchema = v.object({
  // What is listened on is shown where that fails, and a URL may have a password in it.
  host: v.optional(v.pipe(text(HOST), v.regex(/^[^/@]+$/, HOST)), '127.0.0.1'),
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
  basePath: v.optional(
    v.pipe(
      v.string(PATH),
      v.regex(/^(?:\/[A-Za-z0-9._~-]+)*$/, PATH),
      v.check((path) => !/\/\.\.?(?:\/|$)/.test(path), DOT_SEGMENT),
    ),
    '/v1',
  ),
  trustProxy: v.optional(wholeNumber(0, 100), 0),
  maxConnectionsPerAddress: v.optional(wholeNumber(0, 1_000_000), 256),
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
  'maxConnectionsPerAddress',
  'sample',
  'addressPerMinute',
  'log',
];
