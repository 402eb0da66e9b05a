import * as v from 'valibot';
import { BASE_PATH, BASE_PATH_EXPECTED, DEFAULTS, isOrigin, isPublicUrl } from '../../check.js';
import { isPostgresUrl, isSentinelUrl, parseRedisUrl, type RedisAddress } from './urls.js';

/** How a setting is written on the command line and in the environment. */
interface SettingText {
  readonly flag: string;
  /** The placeholder of the flag's value in a help text. Absent for a flag that takes no value. */
  readonly value?: string;
  readonly env: string;
  readonly help: string;
}

/** Defines a setting. `usage` is its flag with the placeholder of the value: `--host HOST`. */
function setting<Schema extends v.GenericSchema>(
  usage: string,
  env: string,
  help: string,
  schema: Schema,
): Schema & SettingText {
  const [flag = '', value] = usage.slice('--'.length).split(' ');
  return Object.assign(schema, { flag, ...(value && { value }), env, help });
}

function countSetting(
  usage: string,
  env: string,
  help: string,
  [min, max, defaultValue]: readonly [number, number, number],
) {
  return setting(usage, env, help, v.optional(wholeNumber(min, max), defaultValue));
}

/** Creates the schema of a whole number, which is text in flags and variables. */
export function wholeNumber(min: number, max: number, expected = `expected a whole number from ${min} to ${max}`) {
  return v.pipe(
    v.unknown(),
    v.transform(fromDigits),
    v.number(expected),
    v.integer(expected),
    v.minValue(min, expected),
    v.maxValue(max, expected),
  );
}

function fromDigits(value: unknown): unknown {
  return typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
}

function matchingText(pattern: RegExp, expected: string) {
  return v.pipe(v.string(expected), v.regex(pattern, expected));
}

const FILE_EXPECTED = 'expected a file name or :memory:; for a PostgreSQL database use --database-url';
/**
 * Matches the path of a unix socket, which must contain a slash, so that a mistyped number is not
 * used as a path. A URL is rejected, because it may contain a password.
 */
const SOCKET = /^(?!\w+:\/\/).*\/./;
/** The most bytes of a socket path on macOS. Linux allows 107. Longer paths are truncated silently. */
const MOST_PATH_BYTES = 103;
const PORT_EXPECTED = `expected a whole number from 0 to 65535, or the path of a unix socket such as ./shop.sock, of at most ${MOST_PATH_BYTES} bytes`;
const ORIGIN_EXPECTED = 'expected * or an origin without a path, such as https://shop.example';
const PUBLIC_URL_EXPECTED =
  'expected an http or https URL without the base path and without a slash at the end, such as https://shop.example/shop';
const ESCAPES = 'with @ / ? # in the password written %40 %2F %3F %23';
const DATABASE_URL_EXPECTED = `expected a URL such as postgres://user:password@host:5432/database, ${ESCAPES}`;
const SESSION_ATTRIBUTES_EXPECTED =
  'pg ignores target_session_attrs; name one host, at an address that follows the primary, and leave the parameter out';
const REDIS_URL_EXPECTED = `expected a URL such as redis://user:password@host:6379, ${ESCAPES}; for a cluster, several URLs separated by commas`;
const SENTINEL_EXPECTED =
  'Sentinels are not asked; name the Redis server, at an address that follows its primary, such as that of a proxy';

/**
 * The settings of the program, in the order of the help text. A flag takes precedence over an
 * environment variable, a variable over the settings file, and the file over the default. A new
 * setting needs one entry here.
 */
export const settingsSchema = v.object({
  host: setting(
    '--host HOST',
    'HOST',
    'address to listen on',
    // Rejects a URL, because it may contain a password, and messages show the host.
    v.optional(matchingText(/^[^/@]+$/, 'expected a host name or an address'), DEFAULTS.host),
  ),
  port: setting(
    '--port PORT',
    'PORT',
    'port to listen on; 0 picks a free one; a path such as ./shop.sock is a unix socket',
    v.optional(
      v.union(
        [
          wholeNumber(0, 65_535, PORT_EXPECTED),
          v.pipe(matchingText(SOCKET, PORT_EXPECTED), v.maxBytes(MOST_PATH_BYTES, PORT_EXPECTED)),
        ],
        PORT_EXPECTED,
      ),
      DEFAULTS.port,
    ),
  ),
  metricsPort: setting(
    '--metrics-port PORT',
    'STORE_ORDERS_METRICS_PORT',
    'port of /metrics for Prometheus; needs the package prom-client',
    v.optional(wholeNumber(0, 65_535)),
  ),
  corsOrigins: setting(
    '--cors-origin ORIGIN',
    'STORE_ORDERS_CORS_ORIGIN',
    'origins whose web pages may use the service, separated by commas; * for all',
    v.optional(
      v.pipe(
        v.string(ORIGIN_EXPECTED),
        v.transform((origins) => origins.split(/, */)),
        v.everyItem(isOrigin, ORIGIN_EXPECTED),
      ),
    ),
  ),
  workers: countSetting(
    '--workers N',
    'STORE_ORDERS_WORKERS',
    'worker processes; more than one needs PostgreSQL and Redis',
    [1, 1_024, 1],
  ),
  db: setting(
    '--db FILE',
    'STORE_ORDERS_DB',
    'SQLite file; serve also accepts :memory:, whose orders are lost when the server stops',
    v.optional(matchingText(/^(?!\w+:\/\/)[^\r\n]+$/, FILE_EXPECTED), 'store-orders.db'),
  ),
  databaseUrl: setting(
    '--database-url URL',
    'DATABASE_URL',
    'PostgreSQL database instead of --db: postgres://user:password@host:5432/database',
    v.optional(
      v.pipe(
        v.string(DATABASE_URL_EXPECTED),
        v.check((url) => !/\s$/.test(url), 'ends in a space or line break; store it without one, as with printf %s'),
        v.check((url) => !/[?&]target_session_attrs=/.test(url), SESSION_ATTRIBUTES_EXPECTED),
        v.check((url) => !/[?&]schema=/.test(url), 'pg ignores schema; write options=-c%20search_path%3DNAME instead'),
        v.check(isPostgresUrl, DATABASE_URL_EXPECTED),
      ),
    ),
  ),
  redisUrl: setting(
    '--redis-url URL',
    'REDIS_URL',
    'Redis or Valkey server that counts the quotas: redis://host:6379',
    v.optional(
      v.pipe(
        v.string(REDIS_URL_EXPECTED),
        v.check((url) => !isSentinelUrl(url), SENTINEL_EXPECTED),
        v.transform(parseRedisUrl),
        v.custom<RedisAddress>((address) => address !== undefined, REDIS_URL_EXPECTED),
      ),
    ),
  ),
  basePath: setting(
    '--base-path PATH',
    'STORE_ORDERS_BASE_PATH',
    'path before /store/orders, such as /v1',
    v.optional(matchingText(BASE_PATH, BASE_PATH_EXPECTED), DEFAULTS.basePath),
  ),
  publicUrl: setting(
    '--public-url URL',
    'STORE_ORDERS_PUBLIC_URL',
    'address at which clients reach the server, for its documentation: https://shop.example/shop',
    v.optional(v.pipe(v.string(PUBLIC_URL_EXPECTED), v.check(isPublicUrl, PUBLIC_URL_EXPECTED))),
  ),
  trustProxy: countSetting(
    '--trust-proxy N',
    'STORE_ORDERS_TRUST_PROXY',
    'number of trusted proxies in front of the server',
    [0, 100, DEFAULTS.trustProxy],
  ),
  maxConnectionsPerAddress: countSetting(
    '--max-connections-per-address N',
    'STORE_ORDERS_MAX_CONNECTIONS_PER_ADDRESS',
    'most connections per client address; 0 for no limit; ignored with --trust-proxy',
    [0, 1_000_000, DEFAULTS.maxConnectionsPerAddress],
  ),
  sample: setting(
    '--no-sample',
    'STORE_ORDERS_SAMPLE',
    'create a new database without sample orders and demo keys',
    v.optional(
      v.pipe(
        v.union([v.boolean(), v.picklist(['true', 'false'])], 'expected true or false'),
        v.transform((value) => `${value}` === 'true'),
      ),
      true,
    ),
  ),
  addressPerMinute: countSetting(
    '--address-per-minute N',
    'STORE_ORDERS_ADDRESS_PER_MINUTE',
    'requests per minute without a valid key, per client address',
    [1, 1_000_000_000, DEFAULTS.addressPerMinute],
  ),
  log: setting(
    '--log WHAT',
    'STORE_ORDERS_LOG',
    'requests: every request and event; events: every event, and the requests that failed',
    v.optional(v.picklist(['requests', 'events'], 'expected requests or events'), 'requests'),
  ),
});

/**
 * The values of all settings. Do not print `databaseUrl` or the fields of `redisUrl` other than its
 * name, because they may contain passwords.
 */
export type Settings = Readonly<v.InferOutput<typeof settingsSchema>>;

export type SettingName = keyof typeof settingsSchema.entries;

export const SETTING_NAMES: readonly SettingName[] = Object.keys(settingsSchema.entries).filter(isSettingName);

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settingsSchema.entries, name);
}
